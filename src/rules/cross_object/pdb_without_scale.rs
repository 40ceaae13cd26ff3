//! A DaemonSet whose PodDisruptionBudget needs a scale, which a DaemonSet does not have.

use super::budgets::Protection;
use crate::{
    finding::{Meta, Mode, Reason, paths::TEMPLATE_LABELS},
    inventory::object_summary::DisruptionBudget,
    kubernetes::{int_or_percent, kind::Kind},
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "pdb-without-scale",
        summary: "a DaemonSet with a PodDisruptionBudget that cannot count its pods",
        why: "\
For `maxUnavailable`, and for a percentage in `minAvailable`, the disruption controller has to know how many
pods there should be. It asks the scale subresource of their controller, which a DaemonSet does not have. Then
the PodDisruptionBudget allows no eviction at all, not even of pods that belong to other controllers. `kubectl
drain` passes over daemon pods, but node autoscalers and upgrades of managed nodes evict them, and wait
forever. A rollout is not affected: a controller deletes its pods and does not evict them.

Seen on a 1.36 control plane, DaemonSet with two ready pods: with `maxUnavailable: 1` and with `minAvailable:
50%` the PodDisruptionBudget has the condition SyncFailed, \"daemonsets.apps does not implement the scale
subresource\", and `disruptionsAllowed: 0`; evicting a pod is answered with 429. With `minAvailable: 1` it
allows one disruption.

Kubernetes: `getExpectedScale`, pkg/controller/disruption/disruption.go.",
        bad: include_str!("examples/pdb-without-scale.bad.yaml"),
        good: include_str!("examples/pdb-without-scale.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    if query.item.kind() != Kind::DaemonSet {
        return;
    }
    let mut all = Protection::all(query).into_iter();
    let first = all.find_map(|Protection { item, budget }| Some((item, needs_scale(budget)?)));
    if let Some((item, field)) = first {
        let message = format!(
            "its {item} has {field}, for which it needs the scale of their \
             controller; a DaemonSet has none, so it allows no eviction at all"
        );
        found.report(
            Kind::PodDisruptionBudget,
            &TEMPLATE_LABELS,
            Reason::Invalid,
            message,
            "set minAvailable to a number there, or do without it",
        );
    }
}

fn needs_scale(budget: &DisruptionBudget) -> Option<&'static str> {
    if budget.max_unavailable.is_some() {
        return Some("maxUnavailable");
    }
    let percent = budget.min_available.as_ref().and_then(int_or_percent::percentage);
    percent.map(|_| "a percentage in minAvailable")
}
