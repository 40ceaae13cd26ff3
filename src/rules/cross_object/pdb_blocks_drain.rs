//! A StatefulSet whose PodDisruptionBudget never allows an eviction.

use super::{
    budgets::Protection,
    rule::{Asked, Evidence, Found, Rule},
};
use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    inventory::{item::Budget, kind::Kind},
    kubernetes::int_or_percent::{number, percentage, to_value},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
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

Kubernetes: `getExpectedPodCount`, pkg/controller/disruption/disruption.go.",
        bad: include_str!("examples/pdb-blocks-drain.bad.yaml"),
        good: include_str!("examples/pdb-blocks-drain.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["StatefulSet"],
    evidence: Evidence::Presence,
    check,
};

fn check(asked: &Asked<'_>, found: &mut Found) {
    let Some(judged) = asked.item.judged().filter(|_| asked.item.kind() == Kind::StatefulSet)
    else {
        return;
    };
    let replicas = i64::from(judged.replicas);
    if replicas < 1 {
        return;
    }
    let all = Protection::all(asked).into_iter();
    let mut all = all.filter(|Protection { budget, .. }| !budget.is_owned);
    let first = all.find_map(|Protection { item, budget }| {
        Some((item, blocks(budget, replicas, || selects_others(asked, budget))?))
    });
    if let Some((item, wanted)) = first {
        found.report(
            Kind::PodDisruptionBudget,
            &SPEC.child("replicas"),
            Reason::Invalid,
            format!(
                "its {item} has {wanted}, and there are {replicas} replicas: it allows no eviction, so \
                 a drain of their nodes never ends"
            ),
            "let it spare a pod: lower minAvailable, or set maxUnavailable to at least 1",
        );
    }
}

/// What a PodDisruptionBudget says, if it wants all of this number of pods.
fn blocks(budget: &Budget, replicas: i64, shared: impl Fn() -> bool) -> Option<String> {
    if let Some(most) = &budget.max_unavailable {
        // A percentage is rounded up, so only zero is none.
        return (number(most) == 0).then(|| format!("maxUnavailable: {}", to_value(most)));
    }
    let least = budget.min_available.as_ref()?;
    let wanted = match percentage(least) {
        Some(percent) => percent.saturating_mul(replicas).saturating_add(99) / 100,
        None => number(least),
    };
    (wanted >= replicas && !shared()).then(|| format!("minAvailable: {}", to_value(least)))
}

/// Whether it is known to select the pods of another controller too, which then may be spared.
fn selects_others(asked: &Asked<'_>, budget: &Budget) -> bool {
    let Some(selector) = &budget.selector else { return false };
    let mut selected = asked.inventory().selected_by(asked.item.namespace(), selector);
    selected.any(|other| asked.counts(other) && !asked.item.is_same(other))
}
