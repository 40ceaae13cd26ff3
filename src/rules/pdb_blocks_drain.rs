//! PodDisruptionBudgets that allow no eviction: code that cross-object rules and rules about status
//! share.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{
    finding::{Meta, Mode},
    kubernetes::int_or_percent::{number, percentage, to_value},
};

/// The description of the rule about budgets that never allow an eviction, which is in both families.
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

/// The description of the rule about budgets that keep broken pods, which is in both families too.
pub(super) const KEEPS: Meta = Meta {
    id: "pdb-keeps-broken-pods",
    summary: "a PodDisruptionBudget that lets no pod be evicted while several are broken",
    why: "\
Unless a PodDisruptionBudget has `unhealthyPodEvictionPolicy: AlwaysAllow`, a pod that runs and is not ready
may be evicted only while enough others are ready. If more pods are broken than it spares, for example all of
them after a bad image, no pod can be evicted, not even a broken one, and a drain of their nodes does not end
before a user repairs or deletes them. Upgrades of nodes and autoscalers wait just as long.

Seen on a 1.37 control plane: 3 replicas, `maxUnavailable: 1`, two pods not ready; evicting any of the two is
answered with 429, \"Cannot evict pod as it would violate the pod's disruption budget\". With AlwaysAllow both
are evicted. With one broken pod both policies allow it.

In a running cluster it is reported only while it happens: pods have run and are not ready for a while, and
the budget has fewer healthy pods than it wants.

It is a note, because the policy is a choice: with AlwaysAllow, a pod that is about to recover can be evicted
too, which a database that copies its data for hours may not want. Budgets that a controller owns are left
out, and those that allow no eviction at all, which `pdb-blocks-drain` reports.

Kubernetes: `EvictionREST.Create` and `canIgnorePDB`, pkg/registry/core/pod/storage/eviction.go.",
    bad: include_str!("cross_object/examples/pdb-keeps-broken-pods.bad.yaml"),
    good: include_str!("cross_object/examples/pdb-keeps-broken-pods.good.yaml"),
    mode: Mode::Audit,
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
