//! Pods that two PodDisruptionBudgets select.

use super::budgets::Protection;
use crate::{
    finding::{Meta, Mode, Reason, paths::TEMPLATE_LABELS},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "pdb-overlap",
        summary: "pods that more than one PodDisruptionBudget selects",
        why: "\
The eviction API supports one PodDisruptionBudget for a pod. If two select it, every eviction of the pod
fails, whatever they allow. `kubectl drain`, node upgrades and autoscalers then cannot empty the node.

Seen on a 1.36 control plane: two PodDisruptionBudgets that each allow one disruption select the pods of a
StatefulSet; an eviction is answered with \"This pod has more than one PodDisruptionBudget, which the eviction
subresource does not support.\"

Kubernetes: `EvictionREST.Create`, pkg/registry/core/pod/storage/eviction.go.",
        bad: include_str!("examples/pdb-overlap.bad.yaml"),
        good: include_str!("examples/pdb-overlap.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    if let [one, other, ..] = &Protection::all(query)[..] {
        let (one, other) = (one.item, other.item);
        found.report(
            Kind::PodDisruptionBudget,
            &TEMPLATE_LABELS,
            Reason::Invalid,
            format!("both {one} and {other} select these pods, so every eviction of them fails"),
            "change a selector so that each pod has one PodDisruptionBudget",
        );
    }
}
