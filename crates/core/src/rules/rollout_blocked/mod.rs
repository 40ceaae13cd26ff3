use crate::rules::prelude::*;
use crate::rules::rollout_waits::Unavailability;

pub(super) static RULE: Rule = rule! {
    id: "rollout-blocked", group: Rollout;
    title: "maxUnavailable pods are unavailable already",
    summary: "a changed template while maxUnavailable pods are unavailable already",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(spec: &DaemonSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(status) = subject.old().and_then(read::daemon_set_status) else { return };
    let Some(budget) = Unavailability::of(spec, &status).filter(Unavailability::is_used_up) else {
        return;
    };
    let was_on_delete = subject.old().and_then(Object::strategy) == Some("OnDelete");
    let updated = status.updated_number_scheduled.unwrap_or_default();
    if (was_on_delete || updated == budget.desired) && read::begins(subject, cluster) {
        let message = budget.consequence();
        let help = "repair or remove the nodes of those pods, or raise maxUnavailable";
        found.report(&SPEC.child("template"), Reason::Invalid, message, help);
    }
}
