//! Pods that the API server refuses to delete.

use super::{
    status::{
        phrases::since,
        refusal::{Refusal, by_admission},
    },
    two_pods_on_node,
};
use crate::{
    finding::{Facts, Help, Mode, paths::STATUS},
    kubernetes::kind::Kind,
    observed::WorkloadState,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Report, StatusFindings, StatusQuery},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "deletion-refused",
        title: "pods cannot be deleted",
        summary: "pods that the API server refuses to delete, so that a rollout does not go on",
        group: Cluster,
        mode: Mode::Warn,
        adjustable: true,
    },
    scopes: &[Scope::Status {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        check: StatusCheck::Workload(check),
    }],
    cel: None,
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if query.set.is_healthy() {
        return;
    }
    let Some(refusal) = Refusal::of_deletion(query) else { return };
    // Pods that are too many on a node are another rule's, with the same refusal.
    if !two_pods_on_node::excess(query).0.is_empty() {
        return;
    }
    let effect = effect(query);
    let said = refusal.text();
    let message =
        format!("the deletion of pods is refused {}: {said}; {effect}", since(refusal.since));
    let facts = Facts::title("the deletion of pods is refused").cause(said);
    let facts = facts.effect(effect).since(refusal.since);
    let help = by_admission(query, &refusal.message).unwrap_or_else(|| {
        let run = query.kubectl().looks("describe", &[&query.target()]);
        Help::say("change what refuses it; ").run(run).and(" shows the latest attempts")
    });
    let help = refusal.try_again(query, help);
    let report = Report::new(&STATUS, message, help).facts(facts);
    found.add(report.stuck(query.audit.is_long_ago(refusal.since)));
}

fn effect(query: &StatusQuery<'_>) -> String {
    let (updated, wanted, exist) = match &query.set.state {
        WorkloadState::DaemonSet(it) => {
            let status = &it.status;
            let wanted = status.desired_number_scheduled;
            (status.updated_number_scheduled, wanted, status.current_number_scheduled)
        }
        WorkloadState::StatefulSet(it) => {
            (it.status.updated_replicas, it.spec.replicas.unwrap_or(1), it.status.replicas)
        }
    };
    let updated = updated.unwrap_or_default();
    match updated < wanted {
        true => format!("{updated} of {wanted} pods have the new template"),
        false => format!("{exist} pods exist, and {wanted} should"),
    }
}
