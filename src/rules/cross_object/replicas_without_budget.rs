//! A StatefulSet with several pods and no PodDisruptionBudget.

use super::budgets::Protection;
use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "replicas-without-budget",
        summary: "a StatefulSet with several pods and no PodDisruptionBudget",
        why: "\
A drain evicts pods, and so does an autoscaler that removes nodes. Without a PodDisruptionBudget nothing
limits how many pods of a set they take at once: if two nodes are drained together, two members are gone, and
a database can lose its quorum. The controller of a StatefulSet replaces its pods one by one, but evictions do
not ask it.

The rule only notes this: many sets have several pods for throughput, and can lose some of them. It says
nothing about one pod, which cannot be drained with a budget, and nothing in a namespace without any
PodDisruptionBudget, where they are not in use. `setguard audit` reports it, and `setguard check` if the
StatefulSet is applied together with a PodDisruptionBudget of its namespace.

Seen on a 1.37 control plane, three replicas: without a budget the evictions of all three pods are accepted at
once; with `maxUnavailable: 1` the second one is refused.

Kubernetes: `checkAndDecrement` in `EvictionREST.Create`, pkg/registry/core/pod/storage/eviction.go.",
        bad: include_str!("examples/replicas-without-budget.bad.yaml"),
        good: include_str!("examples/replicas-without-budget.good.yaml"),
        mode: Mode::Audit,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let several = query.item.details().filter(|details| details.replicas > 1);
    let Some(details) = several.filter(|_| query.item.controller().is_some()) else { return };
    let namespace = query.item.namespace();
    // The webhook would repeat it with each change of the set.
    if query.knows_all(Kind::PodDisruptionBudget) && !query.is_stored() {
        return;
    }
    let in_use = query.inventory().has_any(Kind::PodDisruptionBudget, namespace);
    if !in_use || !query.knows(Kind::PodDisruptionBudget, namespace) {
        return;
    }
    if !Protection::all(query).is_empty() {
        return;
    }
    found.report(
        Kind::PodDisruptionBudget,
        &SPEC.child("replicas"),
        Reason::Required,
        format!(
            "no PodDisruptionBudget selects its {} pods, so drains and autoscalers may evict all of them at once",
            details.replicas
        ),
        "add a PodDisruptionBudget with maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow",
    );
}
