//! A StatefulSet whose broken pods its PodDisruptionBudget keeps on their nodes.

use super::budgets::Protection;
use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    kubernetes::kind::Kind,
    rules::{
        drains,
        rule::{
            Rule, Scope,
            inventory::{Evidence, InventoryFindings, Query},
        },
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
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

It is a note, because the policy is a choice: with AlwaysAllow, a pod that is about to recover can be evicted
too, which a database that copies its data for hours may not want. Budgets that a controller owns are left
out, and those that allow no eviction at all, which `pdb-blocks-drain` reports.

Kubernetes: `EvictionREST.Create` and `canIgnorePDB`, pkg/registry/core/pod/storage/eviction.go.",
        bad: include_str!("examples/pdb-keeps-broken-pods.bad.yaml"),
        good: include_str!("examples/pdb-keeps-broken-pods.good.yaml"),
        mode: Mode::Audit,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(details) = query.item.details() else { return };
    let replicas = i64::from(details.replicas);
    let keeps = |Protection { budget, .. }: &Protection<'_>| {
        let (least, most) = (budget.min_available.as_ref(), budget.max_unavailable.as_ref());
        !budget.is_owned
            && !budget.evicts_unready
            && drains::wanted(least, most, replicas).is_none()
    };
    let budget = Protection::all(query).into_iter().find(keeps);
    let Some(Protection { item, .. }) = budget.filter(|_| replicas > 1) else { return };
    found.report(
        Kind::PodDisruptionBudget,
        &SPEC.child("replicas"),
        Reason::Invalid,
        format!(
            "while more pods are broken than its {item} spares, no broken pod can be evicted, so a \
             drain of their nodes waits until a user repairs or deletes them"
        ),
        "set unhealthyPodEvictionPolicy: AlwaysAllow there, unless pods that recover must not be evicted",
    );
}
