//! Taints as text, and taints that come and go with the state of a node.

use k8s_openapi::api::core::v1::Taint;

/// Kubernetes' own prefixes, and the ones of cloud providers and of programs that scale and prepare nodes. Kubernetes:
/// k8s.io/api/core/v1/well_known_taints.go, k8s.io/cloud-provider/api/well_known_taints.go.
const TRANSIENT: [&str; 9] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",
    "readiness.k8s.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
];
/// A driver or the cloud's agent removes such a taint once it runs on a node.
const NOT_READY: &str = "not-ready";

/// `taint` is `key=value:effect`. A program sets and removes such a taint, so no template should tolerate it.
pub(crate) fn is_transient(taint: &str) -> bool {
    let key = taint.split(['=', ':']).next().unwrap_or_default();
    key.ends_with(NOT_READY) || TRANSIENT.iter().any(|it| key.starts_with(it))
}

/// As `kubectl taint` does.
pub(crate) fn written(Taint { key, value, effect, .. }: &Taint) -> String {
    match value.as_deref() {
        None | Some("") => format!("{key}:{effect}"),
        Some(value) => format!("{key}={value}:{effect}"),
    }
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
            "node.gardener.cloud/critical-components-not-ready:NoSchedule",
            "aws-node-termination-handler/spot-itn:NoSchedule",
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
