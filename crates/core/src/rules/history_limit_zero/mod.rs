use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "history-limit-zero", group: Rollout, mode: Mode::Audit, cel: "cel.yaml";
    title: "no revision is left to roll back to",
    summary: "revisionHistoryLimit 0: no revision is left to roll back to",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let limit = match &subject.object.workload {
        Workload::DaemonSet(spec) => spec.revision_history_limit,
        Workload::StatefulSet(spec) => spec.revision_history_limit,
    };
    if limit == Some(0) {
        let message = "once a rollout is complete, no old revision is kept, so `kubectl rollout undo` has nothing to roll back to";
        let help = "use 1 or more, or leave the field out for the default of 10";
        found
            .report(&SPEC.child("revisionHistoryLimit"), Reason::Invalid, message, help)
            .removable(false);
    }
}
