use super::{
    status::{outlook::IDLE, refusal::by_admission},
    two_pods_on_node,
};
use crate::observed::{Counts, RolloutStatus};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "deletion-refused", group: Cluster;
    title: "pods cannot be deleted",
    summary: "pods that the API server refuses to delete, so that a rollout does not go on",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    // The controller of a StatefulSet whose rollout has ended deletes no pod; with a partition, the set is not healthy.
    let progress = RolloutStatus::of(query.audit.observed, query.set, query.audit.cluster, true);
    let has_ended = query.set.kind() == WorkloadKind::StatefulSet && progress.outcome().is_some();
    if query.set.is_healthy() || has_ended {
        return;
    }
    let Some(refusal) = Refusal::of_deletion(query) else { return };
    // two-pods-on-node reports excess pods, with the same refusal.
    if !two_pods_on_node::excess(query).0.is_empty() {
        return;
    }
    let facts = Facts::title("the deletion of pods is refused").cause(refusal.text());
    let facts = facts.effect(effect(query)).since(refusal.since);
    let facts = facts.outlook(Outlook::new(IDLE, Hold::Passing));
    let help = by_admission(query, &refusal.message).unwrap_or_else(|| {
        let run = query.kubectl().looks("describe", &[&query.target()]);
        Help::say("change what refuses it; ").run(run).and(" shows the latest attempts")
    });
    let help = refusal.try_again(query, help);
    let is_stuck = query.audit.is_long_ago(refusal.since);
    found.add(StatusFinding::new(&STATUS, facts, help).stuck(is_stuck));
}

fn effect(query: &StatusQuery<'_>) -> String {
    let Counts { wanted, exist, updated, .. } = query.set.counts();
    match updated < wanted {
        true => format!("{updated} of {wanted} pods have the new template"),
        false => format!("{exist} pods exist, and {wanted} should"),
    }
}
