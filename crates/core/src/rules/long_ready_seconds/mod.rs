use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "long-ready-seconds", group: Rollout, mode: Mode::Audit, cel: "cel.yaml";
    title: "minReadySeconds makes the rollout very long",
    summary: "minReadySeconds so high that a rollout takes very long",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

const LONG_STEP: i64 = 600;
const LONG_ROLLOUT: i64 = 3600;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let seconds = match &subject.object.workload {
        Workload::DaemonSet(spec) => spec.min_ready_seconds,
        Workload::StatefulSet(spec) => spec.min_ready_seconds,
    };
    let seconds = i64::from(seconds.unwrap_or_default());
    if seconds <= 0 || subject.object.strategy() != Some("RollingUpdate") {
        return;
    }
    let steps = match &subject.object.workload {
        Workload::DaemonSet(spec) => daemon_steps(subject, spec),
        Workload::StatefulSet(spec) => spec.replicas.map(i64::from),
    };
    let steps = steps.unwrap_or(1).max(1);
    let total = seconds.saturating_mul(steps);
    if seconds <= LONG_STEP && total <= LONG_ROLLOUT {
        return;
    }
    let message = match steps {
        1 => format!("each step of a rollout waits for {seconds} seconds"),
        _ => format!(
            "a rollout has {steps} steps of at least {seconds} seconds each, {} minutes in all",
            total / 60
        ),
    };
    let help = "use only as many seconds as a bad version needs to fail";
    found.report(&SPEC.child("minReadySeconds"), Reason::Invalid, message, help);
}

/// `None` if the status lacks the number of nodes.
fn daemon_steps(subject: &Subject<'_>, spec: &DaemonSetSpec) -> Option<i64> {
    let status = match subject.old() {
        Some(old) => read::daemon_set_status(old),
        None => read::daemon_set_status(&subject.object),
    };
    let desired = status?.desired_number_scheduled;
    let rolling = spec.update_strategy.as_ref()?.rolling_update.as_ref()?;
    let at_once = if read::surges(spec) { &rolling.max_surge } else { &rolling.max_unavailable };
    let at_once = read::scaled(at_once.as_ref()?, desired, true)?.max(1);
    let desired = i64::from(desired);
    Some(desired / at_once + i64::from(desired % at_once > 0))
}
