//! Pods that end, although their controller wants them to run for ever.

use k8s_openapi::api::core::v1::{Container, ContainerRestartRule};

use super::read;
use crate::{finding::{Findings, Mode, Reason, paths::POD_SPEC}, kubernetes::cluster::Cluster, object::Subject, rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope}};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "no-container-restarts",
        title: "no container is restarted after exit code 0",
        summary: "no container is restarted after exit code 0, so pods end and are recreated",
        mode: Mode::Warn,
        adjustable: true,
    },
    scopes: &[Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    }],
    cel: Some(&CEL),
};

static CEL: Cel = Cel {
    fault: "@pod.containers.all(c, c.?restartPolicy.orValue('Always') in ['Never', 'OnFailure'] \
        && !c.?restartPolicyRules.orValue([]).exists(r, has(r.exitCodes) && \
        (r.exitCodes.operator == 'In') == (0 in r.exitCodes.?values.orValue([]))))",
    message: "'no container is restarted after exit code 0, so the pod ends, and the controller deletes it and \
        creates it again'",
    help: "leave out restartPolicy of the container that has to run for ever",
    gate: Some(GATE),
    ..Cel::EMPTY
};

/// The feature gate of `restartPolicy` in containers. The API server refuses the field while it is off.
const GATE: &str = "ContainerRestartRules";

/// Kubernetes: `podsShouldBeOnNode`, pkg/controller/daemon/daemon_controller.go, and `processReplica`,
/// pkg/controller/statefulset/stateful_set_control.go.
fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let containers = read::pod_spec(&subject.object).map(|it| &it.containers[..]);
    let containers = containers.filter(|_| cluster.enabled(GATE)).unwrap_or_default();
    let Some(policy) = containers.first().and_then(|it| it.restart_policy.as_deref()) else {
        return;
    };
    if containers.iter().any(is_restarted) {
        return;
    }
    let (what, after) = match containers.len() {
        1 => ("the container isn't", "it exits"),
        _ => ("no container is", "all have exited"),
    };
    found.report(
        &POD_SPEC.child("containers").index(0).child("restartPolicy"),
        Reason::Invalid,
        format!(
            "{what} restarted after exit code 0, so the pod ends when {after}, and the controller deletes it and \
             creates it again, without a pause (restartPolicy {policy})"
        ),
        "leave out restartPolicy of the container that has to run for ever",
    );
}

/// Returns whether the kubelet restarts a container after exit code 0.
fn is_restarted(container: &Container) -> bool {
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    let ends = matches!(container.restart_policy.as_deref(), Some("Never" | "OnFailure"));
    !ends || rules.iter().any(is_for_success)
}

/// Returns whether a rule restarts a container after exit code 0.
fn is_for_success(rule: &ContainerRestartRule) -> bool {
    rule.exit_codes.as_ref().is_some_and(|codes| {
        let has_zero = codes.values.iter().flatten().any(|code| *code == 0);
        (codes.operator == "In") == has_zero
    })
}
