use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "command-in-one-string", group: NeverStarts;
    title: "no program has this name",
    summary: "a command whose arguments are in the same string as its program",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let name = &container.name;
    let effect = format!("container {name:?} never starts");
    let (command, args) = (list(&container.command), list(&container.args));
    report(command, &effect, path, found);
    unread(command, if command.is_empty() { &[] } else { args }, path, found);
    read::actions(container, path, &mut |it| {
        report(it.command, it.effect, it.path, found);
        unread(it.command, &[], it.path, found);
    });
}

fn report(command: &[String], effect: &str, path: &Path<'_>, found: &mut Findings) {
    let Some(text) = command.first().filter(|it| holds_arguments(it)) else { return };
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let message = format!("there is no program {text:?}, so {effect}");
    let help = format!("write each word as an item of its own: [{program}, …]");
    found.report(&path.item("command", 0), Reason::Invalid, message, help).planned_if(true);
}

/// Words that no shell reads.
fn unread(command: &[String], args: &[String], path: &Path<'_>, found: &mut Findings) {
    let words: Vec<&str> = command.iter().chain(args).map(String::as_str).collect();
    let operator = operator(&words).map(|(i, word, program)| {
        let message = format!(
            "no shell reads {word:?}, so {program} gets it and the words after it as arguments"
        );
        (i, message, "write one script: [sh, -c, …]")
    });
    let ignored = || {
        let (i, shell, script) = ignored(&words)?;
        let message = format!("{shell} -c runs only the script before {script:?}, not this");
        Some((i, message, "write one script, with the words after it, or && between commands"))
    };
    let Some((i, message, help)) = operator.or_else(ignored) else { return };
    let (list, i) = match i.checked_sub(command.len()) {
        Some(i) => ("args", i),
        None => ("command", i),
    };
    found.report(&path.child(list).index(i), Reason::Invalid, message, help);
}

/// The first word that only a shell understands, with its index and the program that gets it.
fn operator<'a>(words: &[&'a str]) -> Option<(usize, &'a str, &'a str)> {
    let program = read::program(words.first()?);
    // These programs have such words themselves, or run a shell.
    let is_own = words.iter().any(|it| read::is_shell(it))
        || ["[", "awk", "expr", "find", "jq", "ssh", "tcpdump", "test", "watch"].contains(&program);
    let is_operator = |pair: &[&str]| {
        // As in `cut -d "|"`.
        !matches!(pair, ["-F" | "-d" | "-s" | "-t", "|"])
            && matches!(pair, [_, "&&" | "||" | "|" | ">" | ">>"])
    };
    let i = words.windows(2).position(is_operator).filter(|_| !is_own)? + 1;
    Some((i, *words.get(i)?, program))
}

/// A second script after `sh -c SCRIPT`, with its index and the shell. It is `$0` of the first one.
fn ignored<'a>(words: &[&'a str]) -> Option<(usize, &'a str, &'a str)> {
    let at = read::script_at(words)?;
    let (script, next) = (words.get(at)?, words.get(at + 1)?);
    let is_used =
        ["$0", "$1", "$@", "$*", "$#", "${", "shift"].iter().any(|it| script.contains(it));
    // A program and its arguments, not only a name with a space.
    let mut rest = next.split_whitespace().skip(1);
    let mut after = words.iter().skip(at + 1);
    let is_script = !is_used
        && (rest.any(|word| word.starts_with(['-', '/', '$']))
            || after.any(|it| it.starts_with('-') && *it != "--"));
    is_script.then_some((at + 1, *words.first()?, *next))
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
