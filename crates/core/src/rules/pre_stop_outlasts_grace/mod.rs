use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pre-stop-outlasts-grace", group: Rollout;
    title: "the preStop hook uses the whole grace period",
    summary: "a preStop hook that sleeps for the whole grace period",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// `DefaultTerminationGracePeriodSeconds`.
const DEFAULT_GRACE: i64 = 30;

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let grace = spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE);
    for (list, i, container) in running(spec) {
        let Some((action, seconds)) = sleep(container) else { continue };
        if seconds == Some(0) || seconds.is_some_and(|seconds| seconds < grace) {
            continue;
        }
        let time = seconds.map_or("forever".to_owned(), |seconds| format!("{seconds} s"));
        found.report(
            &POD_SPEC.item(list, i).below("lifecycle.preStop").child(action),
            Reason::Invalid,
            format!(
                "the hook sleeps {time} of a grace period of {grace} s, so container {:?} is \
                 killed 2 s after it is told to stop",
                container.name
            ),
            "sleep less, or raise terminationGracePeriodSeconds by the time the process needs",
        );
    }
}

/// The field of the preStop hook that sleeps, and for how many seconds. `None` is forever.
fn sleep(container: &Container) -> Option<(&'static str, Option<i64>)> {
    let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
    if let Some(sleep) = &hook.sleep {
        return Some(("sleep", Some(sleep.seconds)));
    }
    let command = hook.exec.as_ref()?.command.as_deref()?;
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    of_command(&words).map(|seconds| ("exec", seconds))
}

/// Over all commands in sequence, up to one that may tell the program to stop: then the sleep is its time to do so.
fn of_script(script: &str) -> Option<Option<i64>> {
    // After one of these words, nothing is certain to run.
    const LAST: [&str; 10] =
        ["case", "exec", "exit", "for", "function", "if", "return", "until", "while", "{"];
    // Nobody expects these to fail, so the command after `&&` runs.
    const SUCCEED: [&str; 7] = [":", "date", "echo", "printf", "set", "touch", "true"];
    const STOPS: [&str; 6] = ["drain", "kill", "quit", "shut", "stop", "term"];
    let script = read::plain(script).replace("&>", ">").replace(">&", ">");
    if script.replace("&&", "").contains('&') || script.contains(['(', ')']) {
        return None;
    }
    let mut sum = None;
    'script: for chain in script.split(['\n', ';']) {
        for command in chain.split("&&").filter_map(|it| it.split('|').next()) {
            let words = command.split_whitespace().take_while(|it| !it.contains(['<', '>']));
            let words: Vec<&str> = words.collect();
            match of_command(&words) {
                Some(time) => {
                    sum = Some(sum.map_or(time, |sum: Option<i64>| sum?.checked_add(time?)));
                }
                None if words.first().is_some_and(|it| SUCCEED.contains(it)) => {}
                None if STOPS.iter().any(|it| command.to_ascii_lowercase().contains(it)) => {
                    break 'script;
                }
                None => break,
            }
        }
        if chain.split_whitespace().any(|word| LAST.contains(&word)) {
            break;
        }
    }
    sum
}

fn of_command(words: &[&str]) -> Option<Option<i64>> {
    let (program, rest) = words.split_first()?;
    match read::program(program) {
        "exec" | "env" | "busybox" | "nohup" => of_command(rest),
        "timeout" => {
            // The duration of the option -k comes before the limit.
            let at = rest.windows(2).position(
                |it| matches!(it, [limit, command] if seconds(limit).is_some() && seconds(command).is_none()),
            )?;
            let (limit, command) = rest.get(at..)?.split_first()?;
            let (limit, slept) = (seconds(limit)?, of_command(command)?);
            Some(Some(slept.map_or(limit, |slept| slept.min(limit))))
        }
        "sleep" if rest.iter().any(|it| matches!(*it, "inf" | "infinity")) => Some(None),
        "sleep" if !rest.is_empty() => {
            let total = rest.iter().try_fold(0_i64, |sum, it| sum.checked_add(seconds(it)?))?;
            Some(Some(total))
        }
        _ => of_script(words.get(read::script_at(words)?)?),
    }
}

/// Parses an operand of sleep, such as `45` or `2m`, without fractions.
fn seconds(time: &str) -> Option<i64> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let unit = units.into_iter().find_map(|(unit, size)| Some((time.strip_suffix(unit)?, size)));
    let (number, unit) = unit.unwrap_or((time, 1));
    number.split('.').next()?.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_sleeps_as_long_as_its_certain_parts() {
        for (script, expected) in [
            ("sleep 45 && kill 1", Some(45)),
            ("date && sleep 45", Some(45)),
            ("nginx -s quit && sleep 45", None),
            ("kill -QUIT $(cat /run/pid); sleep 45", None),
            ("curl -X POST localhost/-/Shutdown; sleep 45", None),
            ("sleep 20; bitcoin-cli stop; sleep 45", Some(20)),
            ("echo stopping; sleep 45", Some(45)),
            ("ready && sleep 45", None),
            ("ready || sleep 45", None),
            ("a; sleep 20; b\nsleep 20", Some(40)),
            ("echo bye >&2; curl -s localhost >/dev/null 2>&1; sleep 45 >/dev/null", Some(45)),
            ("echo 'if so; sleep 9' # sleep 9\nsleep 45", Some(45)),
            ("echo $(date; sleep 9) `sleep 9`; sleep \"45\"; exit 0", Some(45)),
            ("sleep 20; ready || exit 0; sleep 45", Some(20)),
            ("sleep 20; if ready; then sleep 45; fi", Some(20)),
            ("sleep 45 & wait", None),
            ("(sleep 45)", None),
            ("timeout -k 5s 60 sleep 90", Some(60)),
            ("timeout --signal=KILL 60 sleep 90", Some(60)),
            ("timeout 60 tail --pid=1 -f /dev/null", None),
            ("exec sleep 0.5m 45.5", Some(45)),
            ("sleep $TIME; sleep ${TIME:-45}", None),
        ] {
            assert_eq!(of_script(script), expected.map(Some), "{script}");
        }
    }
}
