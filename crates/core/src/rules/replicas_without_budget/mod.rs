use super::selector_misses_pods::missing;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "replicas-without-budget", group: Upgrade, mode: Mode::Audit;
    title: "no PodDisruptionBudget protects the pods",
    summary: "a StatefulSet with several pods and no PodDisruptionBudget",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let namespace = query.item.namespace();
    // The webhook would repeat the finding on each change of the set.
    let is_repeated = query.knows_all(Kind::PodDisruptionBudget) && !query.is_stored();
    if query.details.replicas < 2 || is_repeated {
        return;
    }
    let in_use = query.inventory().has_any(Kind::PodDisruptionBudget, namespace);
    if !in_use || !query.knows(Kind::PodDisruptionBudget, namespace) {
        return;
    }
    // selector-misses-pods reports a budget that is meant for these pods.
    if !Protection::all(query).is_empty()
        || missing(query, Kind::PodDisruptionBudget).next().is_some()
    {
        return;
    }
    found.via(
        Kind::PodDisruptionBudget,
        &SPEC.child("replicas"),
        Reason::Required,
        format!(
            "no PodDisruptionBudget selects its {} pods, so drains and autoscalers may evict all of them at once",
            query.details.replicas
        ),
        "add a PodDisruptionBudget with maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow",
    );
}
