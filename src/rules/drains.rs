//! PodDisruptionBudgets that allow no eviction: code that the cross-object rule and the rule about
//! status share.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{
    finding::{Meta, Mode},
    kubernetes::int_or_percent::{number, percentage, to_value},
};

/// The description that both rules share.
pub(super) const META: Meta = Meta {
    id: "pdb-blocks-drain",
    summary: "a StatefulSet whose PodDisruptionBudget never allows an eviction",
    why: "\
A PodDisruptionBudget that wants all pods of the StatefulSet (`minAvailable` of at least `replicas`), or none
unavailable (`maxUnavailable: 0`), allows no eviction, even if all pods are healthy. `kubectl drain`, node
upgrades and autoscalers wait for it forever, or kill the pods after a time limit. The usual case is one
replica with `minAvailable: 1`. It does not protect the pods from a rollout: a controller deletes its pods and
does not evict them.

Seen on a 1.36 control plane: StatefulSet with 3 ready pods and `minAvailable: 3`; the PodDisruptionBudget has
`disruptionsAllowed: 0`, and each eviction is answered with \"Cannot evict pod as it would violate the pod's
disruption budget.\"

A PodDisruptionBudget that a controller owns is not reported: operators use such ones on purpose, and change
them when a node is to be emptied. Nor is one that is known to select the pods of another controller too,
unless it is `maxUnavailable: 0`.

In a running cluster it is also reported if the status of the PodDisruptionBudget allows no eviction although
all pods are healthy, also those of other controllers, or if what it allows cannot be computed (`SyncFailed`).

Seen on a 1.36 control plane: `minAvailable: 3` for two StatefulSets with 2 and 1 pods, all ready: no
disruption allowed. `maxUnavailable: 1` for a StatefulSet and a DaemonSet: SyncFailed, \"daemonsets.apps does
not implement the scale subresource\".

Kubernetes: `getExpectedPodCount`, pkg/controller/disruption/disruption.go.",
    bad: include_str!("cross_object/examples/pdb-blocks-drain.bad.yaml"),
    good: include_str!("cross_object/examples/pdb-blocks-drain.good.yaml"),
    mode: Mode::Warn,
    adjustable: true,
};

/// Returns the setting of a PodDisruptionBudget, if it requires all of this number of pods.
pub(super) fn wanted(
    min_available: Option<&IntOrString>,
    max_unavailable: Option<&IntOrString>,
    replicas: i64,
) -> Option<String> {
    if let Some(most) = max_unavailable {
        // A percentage is rounded up, so only zero is none.
        return (number(most) == 0).then(|| format!("maxUnavailable: {}", to_value(most)));
    }
    let least = min_available?;
    let wanted = match percentage(least) {
        Some(percent) => percent.saturating_mul(replicas).saturating_add(99) / 100,
        None => number(least),
    };
    (wanted >= replicas).then(|| format!("minAvailable: {}", to_value(least)))
}
