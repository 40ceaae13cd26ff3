//! A command with its arguments in the name of the program.

use crate::kubernetes::{absent::list, containers::visit};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "command-in-one-string",
    title: "no program has this name",
    summary: "a command whose arguments are in the same string as its program",
    group: NeverStarts,
    mode: Mode::Warn,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    visit(spec, &POD_SPEC, &mut |container, path| {
        let name = &container.name;
        let effect = format!("container {name:?} never starts");
        report(list(&container.command), &effect, path, found);
        read::actions(container, path, &mut |it| {
            report(it.command, it.effect, it.path, found);
        });
    });
}

fn report(command: &[String], effect: &str, path: &Path<'_>, found: &mut Findings) {
    let Some(text) = command.first().filter(|it| holds_arguments(it)) else { return };
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let message = format!("there is no program {text:?}, so {effect}");
    let help = format!("write each word as an item of its own: [{program}, …]");
    let path = path.child("command");
    found.report(&path.index(0), Reason::Invalid, message, help).planned_if(true);
}

/// A path may contain a space, and a placeholder anything.
fn holds_arguments(text: &str) -> bool {
    let Some((program, rest)) = text.split_once(char::is_whitespace) else { return false };
    let is_path = program.contains(['/', '\\']);
    let is_shell = read::is_shell(program);
    !program.is_empty()
        && !text.contains(['\\', '{', '<', '\n'])
        && !text.contains("$(")
        && (!is_path || is_shell || rest.split_whitespace().any(|word| word.starts_with('-')))
}
