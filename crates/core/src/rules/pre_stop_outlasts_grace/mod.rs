//! A preStop hook that takes all the time that the pod has to stop.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::read;
use crate::{
    finding::{Findings, Mode, Path, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::is_sidecar},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Rule, Scope},
};

pub(super) static RULE: Rule = rule! {
    id: "pre-stop-outlasts-grace",
    title: "the preStop hook uses the whole grace period",
    summary: "a preStop hook that sleeps for the whole grace period",
    group: Rollout,
    mode: Mode::Warn,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

/// `DefaultTerminationGracePeriodSeconds`.
const DEFAULT_GRACE: i64 = 30;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    let grace = spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE);
    visit(spec, &mut |container, path| {
        let Some((action, seconds)) = sleep(container) else { return };
        if seconds == Some(0) || seconds.is_some_and(|seconds| seconds < grace) {
            return;
        }
        let time = seconds.map_or("forever".to_owned(), |seconds| format!("{seconds} s"));
        found.report(
            &path.child("lifecycle").child("preStop").child(action),
            Reason::Invalid,
            format!(
                "the hook sleeps {time} of a grace period of {grace} s, so container {:?} is \
                 killed 2 s after it is told to stop",
                container.name
            ),
            "sleep less, or raise terminationGracePeriodSeconds by the time the process needs",
        );
    });
}

/// The containers that run until the pod stops.
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

/// The field of the preStop hook that sleeps, and for how many seconds. `None` is forever.
fn sleep(container: &Container) -> Option<(&'static str, Option<i64>)> {
    let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
    if let Some(sleep) = &hook.sleep {
        return Some(("sleep", Some(sleep.seconds)));
    }
    let seconds = match hook.exec.as_ref()?.command.as_deref()? {
        [shell, flag, script] if name_of(shell).ends_with("sh") && runs_script(flag) => {
            of_script(script)
        }
        words => of_command(words.iter().map(String::as_str)),
    };
    seconds.map(|seconds| ("exec", seconds))
}

/// Over all commands in sequence.
fn of_script(script: &str) -> Option<Option<i64>> {
    const BRANCHES: [&str; 8] =
        ["case", "exit", "for", "function", "if", "return", "until", "while"];
    let mut words = script.split(|c: char| c.is_whitespace() || c == ';');
    let in_background = script.replace("&&", "").contains('&');
    if in_background || script.contains('(') || words.any(|word| BRANCHES.contains(&word)) {
        return None;
    }
    let chains = script.split(['\n', ';']).map(|chain| {
        let commands = chain.split("&&").map(|it| it.split("||").next().unwrap_or_default());
        commands.map_while(|command| of_command(command.split_whitespace()))
    });
    chains.flatten().reduce(|sum, more| sum?.checked_add(more?))
}

fn of_command<'a>(words: impl Iterator<Item = &'a str>) -> Option<Option<i64>> {
    let words: Vec<&str> = words.skip_while(|word| *word == "exec").collect();
    let (program, times) = words.split_first()?;
    if name_of(program) == "timeout" {
        let (limit, command) = times.split_first()?;
        let (limit, slept) = (seconds(limit)?, of_command(command.iter().copied())?);
        return Some(Some(slept.map_or(limit, |slept| slept.min(limit))));
    }
    if name_of(program) != "sleep" || times.is_empty() {
        return None;
    }
    if times.iter().any(|time| matches!(*time, "inf" | "infinity")) {
        return Some(None);
    }
    let total = times.iter().try_fold(0_i64, |sum, time| sum.checked_add(seconds(time)?))?;
    Some(Some(total))
}

/// A shell with flags such as `-c` or `-ec` runs the next word.
fn runs_script(flags: &str) -> bool {
    flags.strip_prefix('-').is_some_and(|flags| {
        flags.ends_with('c') && flags.bytes().all(|flag| flag.is_ascii_lowercase())
    })
}

/// An operand of sleep, such as `45` or `2m`.
fn seconds(time: &str) -> Option<i64> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let unit = units.into_iter().find_map(|(unit, size)| Some((time.strip_suffix(unit)?, size)));
    let (number, unit) = unit.unwrap_or((time, 1));
    number.parse::<i64>().ok()?.checked_mul(unit)
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}
