//! Taints that come and go with the state of a node.

/// The key prefixes of these taints: Kubernetes' own, and the ones that cloud providers and
/// programs for scaling and preparing nodes use.
///
/// Kubernetes: k8s.io/api/core/v1/well_known_taints.go,
/// k8s.io/cloud-provider/api/well_known_taints.go.
const TRANSIENT: [&str; 11] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",
    "readiness.k8s.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupt",
    "karpenter.sh/unregistered",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "node.gardener.cloud/critical-components-not-ready",
];
/// The key suffix of taints that a driver removes once it runs on a node.
const NOT_READY: &str = "/agent-not-ready";

/// Returns whether a taint (`key=value:effect`) shows the state of a node. A program sets such a
/// taint and removes it again, so no template should be changed to tolerate it.
pub(crate) fn is_transient(taint: &str) -> bool {
    let key = taint.split(['=', ':']).next().unwrap_or_default();
    key.ends_with(NOT_READY) || TRANSIENT.iter().any(|it| key.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_taints_of_a_state_are_transient() {
        for taint in [
            "node.kubernetes.io/unreachable:NoSchedule",
            "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
            "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
            "ToBeDeletedByClusterAutoscaler=1795327800:NoSchedule",
            "karpenter.sh/disrupted:NoSchedule",
            "node.cilium.io/agent-not-ready:NoSchedule",
        ] {
            assert!(is_transient(taint), "{taint}");
        }
        for taint in
            ["dedicated=gpu:NoSchedule", "node-role.kubernetes.io/control-plane:NoSchedule"]
        {
            assert!(!is_transient(taint), "{taint}");
        }
    }
}
