//! A preStop hook that takes all the time that the pod has to stop.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::is_sidecar},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "pre-stop-outlasts-grace",
        summary: "a preStop hook that sleeps for the whole grace period",
        why: "\
The grace period begins when the pod is deleted, and the preStop hook runs within it. The container gets
SIGTERM when the hook has ended. A hook that sleeps as long as the grace period leaves the process two
seconds to stop, whatever it needs: a database does not flush, a proxy cuts its connections. The default
grace period is 30 seconds.

Seen on a 1.36 control plane: `sleep: {seconds: 30}` with a grace period of 30 is accepted, 31 is refused,
and `exec: {command: [sleep, \"60\"]}` is accepted. That the process gets two seconds is read from the source,
because it happens in the kubelet.

The rule reads the sleep action, and commands that are nothing but a sleep: `sleep 60`, also in a shell.

Kubernetes: `killContainer`, pkg/kubelet/kuberuntime/kuberuntime_container.go; `validateSleepAction`,
pkg/apis/core/validation/validation.go.",
        bad: include_str!("examples/pre-stop-outlasts-grace.bad.yaml"),
        good: include_str!("examples/pre-stop-outlasts-grace.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

/// `DefaultTerminationGracePeriodSeconds`.
const DEFAULT_GRACE: i64 = 30;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    let grace = spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE);
    visit(spec, &mut |container, path| {
        let Some((action, seconds)) = sleep(container) else { return };
        if seconds == 0 || seconds < grace {
            return;
        }
        found.report(
            &path.child("lifecycle").child("preStop").child(action),
            Reason::Invalid,
            format!(
                "the hook sleeps {seconds} s of a grace period of {grace} s, so container {:?} is \
                 killed 2 s after it is told to stop",
                container.name
            ),
            "sleep less, or raise terminationGracePeriodSeconds by the time the process needs",
        );
    });
}

/// The containers that run until the pod is stopped.
fn visit(spec: &PodSpec, visitor: &mut dyn FnMut(&Container, &Path<'_>)) {
    let at = POD_SPEC.child("initContainers");
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        if is_sidecar(container) {
            visitor(container, &at.index(i));
        }
    }
    let at = POD_SPEC.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        visitor(container, &at.index(i));
    }
}

/// Returns the field of the preStop hook that sleeps, and for how many seconds.
fn sleep(container: &Container) -> Option<(&'static str, i64)> {
    let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
    if let Some(sleep) = &hook.sleep {
        return Some(("sleep", sleep.seconds));
    }
    let seconds = match hook.exec.as_ref()?.command.as_deref()? {
        [program, seconds] if name_of(program) == "sleep" => seconds,
        [shell, flag, script] if name_of(shell).ends_with("sh") && flag == "-c" => {
            let mut words = script.split_whitespace();
            let (program, seconds) = (words.next()?, words.next()?);
            let is_all = name_of(program) == "sleep" && words.next().is_none();
            is_all.then_some(seconds)?
        }
        _ => return None,
    };
    let (number, unit) = match seconds.strip_suffix(['s', 'm']) {
        Some(number) if seconds.ends_with('m') => (number, 60),
        Some(number) => (number, 1),
        None => (seconds, 1),
    };
    Some(("exec", number.trim_end_matches(';').parse::<i64>().ok()?.checked_mul(unit)?))
}

/// Returns the name of a program without its folder.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}
