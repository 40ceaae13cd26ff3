use super::read::Action;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "variable-not-expanded", group: NeverStarts;
    title: "nothing replaces the variable",
    summary: "a variable in a command, probe or hook that nothing replaces by its value",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    of_program(container, path, found);
    read::actions(container, path, &mut |it| of_command(container, it, found));
}

/// The kubelet expands only `$(NAME)`. An image may have a shell as its entrypoint.
fn of_program(container: &Container, path: &Path<'_>, found: &mut Findings) {
    let command = list(&container.command);
    let mut words = command.iter().chain(list(&container.args));
    let is_shell = |it: &String| read::is_shell(it) || RUN_SHELLS.contains(&read::program(it));
    if command.is_empty() || words.any(|it| is_shell(it) || it.ends_with("sh")) {
        return;
    }
    for (field, words) in [("command", &container.command), ("args", &container.args)] {
        for (i, word) in list(words).iter().enumerate() {
            let Some((text, name, false)) = variable(word) else { continue };
            let is_whole = word.rsplit('=').next() == Some(text) && !text.contains('{');
            if is_whole && list(&container.env).iter().any(|it| it.name == name) {
                let message = format!("{text} stays as it is, because no shell runs the command");
                let help = format!("write $({name})");
                found.report(&path.item(field, i), Reason::Invalid, message, help);
            }
        }
    }
}

/// Kubernetes: `ExpandContainerCommandOnlyStatic`, pkg/kubelet/container/helpers.go; `Run`,
/// pkg/kubelet/lifecycle/handlers.go.
fn of_command(container: &Container, it: &Action<'_>, found: &mut Findings) {
    let command = it.command;
    let is_program =
        |word: &String| read::is_shell(word) || RUN_SHELLS.contains(&read::program(word));
    let has_shell =
        command.iter().any(is_program) || command.first().is_some_and(|it| it.ends_with("sh"));
    for (i, word) in command.iter().enumerate() {
        let Some((text, name, is_of_kubelet)) = variable(word) else { continue };
        let env = list(&container.env).iter().find(|it| it.name == name);
        let effect = match (is_of_kubelet, it.is_probe) {
            // A shell runs the command of this name.
            (true, _) if has_shell && env.is_none() => continue,
            (true, true) => match env.map(|it| it.value_from.is_some()) {
                Some(false) => continue,
                Some(true) => "is replaced by nothing, because its value isn't in the manifest",
                None => "stays as it is, because env doesn't define it",
            },
            (true, false) if has_shell => {
                "is a command to the shell, because a hook has no variables of this form"
            }
            (true, false) => "stays as it is, because a hook has no variables of this form",
            (false, _) if has_shell => continue,
            (false, _) => "stays as it is, because no shell runs the command",
        };
        let help = format!("run the command in a shell: [sh, -c, \"… ${name} …\"]");
        let message = format!("{text} {effect}");
        found.report(&it.path.item("command", i), Reason::Invalid, message, help);
    }
}

/// Programs that run a shell with their arguments, or replace variables themselves.
const RUN_SHELLS: [&str; 8] =
    ["envsubst", "eval", "expect", "perl", "runuser", "script", "su", "watch"];

/// The first variable of a word without spaces: its text, its name, and whether it is written as `$(NAME)`.
fn variable(word: &str) -> Option<(&str, &str, bool)> {
    let start = word.find('$').filter(|_| !word.contains([' ', '\n', '\'']))?;
    let text = word.get(start..)?;
    let rest = text.get(1..)?;
    let (name, is_of_kubelet, around) = if let Some(rest) = rest.strip_prefix('(') {
        (rest.split_once(')')?.0, true, 3)
    } else if let Some(rest) = rest.strip_prefix('{') {
        (rest.split_once('}')?.0, false, 3)
    } else {
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        (rest.split(is_end).next()?, false, 1)
    };
    let is_name = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let is_variable = name.len() > 2
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(is_name);
    is_variable.then_some((text.get(..name.len() + around)?, name, is_of_kubelet))
}
