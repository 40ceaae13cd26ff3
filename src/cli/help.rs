//! The help: short with `-h`, whole with `--help`.

use std::fmt::Write as _;

use clap::{Command, builder::StyledStr};

const GROUPS: [(&str, &[&str]); 4] = [
    ("Manifests", &["check", "plan", "diff", "inject", "explain", "rules"]),
    ("Cluster", &["audit", "wait", "export"]),
    ("Server", &["serve", "cleanup", "try"]),
    ("Other programs", &["lsp", "mcp", "completions", "man", "version", "help"]),
];

const SHORT_EXAMPLES: usize = 2;

/// Where the short help of an option ends.
const ENDS: [&str; 8] =
    [". ", "; ", ": ", ", which ", ", such as ", ", so that ", ", as ", ", or "];

/// Groups the commands, and shortens `-h` to the first clause of each text and a few examples.
pub(super) fn tidy(command: Command) -> Command {
    let mut command = command.mut_subcommands(shorten);
    command.build();
    let groups = groups(&command);
    command
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"))
}

fn groups(command: &Command) -> String {
    let (head, name) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{head}{title}:{head:#}");
        for it in names.iter().filter_map(|it| command.find_subcommand(it)) {
            let about = it.get_about().map(StyledStr::to_string).unwrap_or_default();
            let about = until(&about, &[", ", ": "]);
            let _ = writeln!(text, "  {name}{:11}{name:#}  {about}", it.get_name());
        }
    }
    text
}

fn shorten(command: Command) -> Command {
    let command = command.mut_subcommands(shorten).mut_args(|arg| {
        let Some(help) = arg.get_help().map(StyledStr::to_string) else { return arg };
        let long = arg.get_long_help().cloned().unwrap_or_else(|| help.clone().into());
        arg.help(until(&help, &ENDS).to_owned()).long_help(long)
    });
    let Some(after) = command.get_after_help().map(StyledStr::to_string) else { return command };
    let Some((_, examples)) = after.split_once("Examples:\n") else { return command };
    let few: Vec<_> = examples.lines().take(SHORT_EXAMPLES).collect();
    let short = format!("Examples:\n{}", few.join("\n"));
    command.after_help(short).after_long_help(after)
}

fn until<'t>(text: &'t str, ends: &[&str]) -> &'t str {
    ends.iter()
        .filter_map(|it| text.split_once(it))
        .map(|(start, _)| start)
        .min_by_key(|it| it.len())
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn each_command_is_in_the_list() {
        let mut command = crate::cli::Cli::command();
        command.build();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<_> = shown.map(Command::get_name).collect();
        let mut listed: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(shown, listed);
    }
}
