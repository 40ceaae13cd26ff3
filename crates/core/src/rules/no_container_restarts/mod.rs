use crate::kubernetes::containers::ends;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "no-container-restarts", group: NeverStarts, cel: "cel.yaml";
    title: "no container is restarted after exit code 0",
    summary: "no container is restarted after exit code 0, so pods end and are recreated",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

pub(super) const HELP: &str = "leave out restartPolicy of the container that has to run for ever";

/// While this gate is off, the API server rejects `restartPolicy` in containers.
const GATE: &str = "ContainerRestartRules";

/// Kubernetes: `podsShouldBeOnNode`, pkg/controller/daemon/daemon_controller.go, and `processReplica`,
/// pkg/controller/statefulset/stateful_set_control.go.
fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object).filter(|spec| cluster.enabled(GATE) && ends(spec));
    let Some(containers) = spec.map(|it| &it.containers[..]) else { return };
    let Some(policy) = containers.first().and_then(|it| it.restart_policy.as_deref()) else {
        return;
    };
    let (what, after) = match containers.len() {
        1 => ("the container isn't", "it exits"),
        _ => ("no container is", "all have exited"),
    };
    let reported = found.report(
        &POD_SPEC.child("containers").index(0).child("restartPolicy"),
        Reason::Invalid,
        format!(
            "{what} restarted after exit code 0, so the pod ends when {after}, and the controller deletes it and \
             creates it again, without a pause (restartPolicy {policy})"
        ),
        HELP,
    );
    reported.planned_if(true);
}
