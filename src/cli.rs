//! The command line: parses the arguments and runs the command.

mod diff;
pub mod export;
mod help;
mod inject;
mod kubectl;
mod lsp;
mod mcp;
mod plan_live;
mod prelude;
mod try_command;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{
    Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use setguard_cluster::{audit, wait};
use setguard_core::printable::{Printable, one_line};
use setguard_files::exit::Exit;
use setguard_offline::{check, explain, plan};

use crate::server;

/// Admission control for DaemonSets, StatefulSets and the pods of node daemons.
///
/// The rules are the same everywhere: what the webhook denies in a cluster, `setguard check`
/// reports in a manifest, in the same words.
#[derive(Debug, Parser)]
#[command(
    name = "setguard",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  setguard check deploy/                        check the manifests of a folder
  setguard check -k overlays/prod               check what kustomize builds
  setguard plan deploy/ --against-ref main      show what a change does to pods
  helm template . | setguard check -            check a rendered chart
  setguard audit                                check a running cluster
  setguard wait statefulset/db --timeout 10m    wait for a rollout
  setguard explain api-validation               explain a rule, with examples
  setguard try deploy/                          try the webhook, without cluster
  setguard serve | kubectl apply -f -           guard a cluster from here"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<server::ServeArgs>),
    Cleanup(server::cleanup::CleanupArgs),
    #[command(hide = true)]
    Probe(server::probe::ProbeArgs),
    #[command(aliases = ["lint", "scan", "test", "validate", "verify"])]
    Check(Box<check::CheckArgs>),
    Diff(diff::DiffArgs),
    Plan(Box<plan::PlanArgs>),
    Audit(Box<audit::AuditArgs>),
    Wait(Box<wait::WaitArgs>),
    Inject(inject::InjectArgs),
    Export(export::ExportArgs),
    Try(try_command::TryArgs),
    Rules(explain::RulesArgs),
    Explain(explain::ExplainArgs),
    Lsp(lsp::LspArgs),
    Mcp(mcp::McpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Version(VersionArgs),
}

/// Print the version
#[derive(Debug, Args)]
struct VersionArgs {
    /// The output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORMAT")]
    format: explain::Format,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  setguard completions bash > /etc/bash_completion.d/setguard")]
struct CompletionsArgs {
    /// The shell that the script is for
    shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setguard man | man -l -
  setguard man /usr/local/share/man/man1")]
struct ManArgs {
    /// The folder for setguard.1, setguard-check.1 and the others
    folder: Option<PathBuf>,
}

fn command() -> clap::Command {
    help::tidy(Cli::command().mut_subcommands(|command| match command.get_name() {
        "serve" => command.mut_args(with_variable),
        _ => command,
    }))
}

/// Lets a variable set a flag, such as `SETGUARD_TLS_CERT` for `--tls-cert`.
fn with_variable(arg: Arg) -> Arg {
    let name = format!("SETGUARD_{}", arg.get_id().as_str().to_uppercase());
    // clap keeps only names that live as long as the program.
    arg.env(&*name.leak())
}

/// Runs the command line.
pub fn main() -> ExitCode {
    mcp::end_with_server();
    let args = kubectl::args();
    let command = command().bin_name(kubectl::name(args.first()));
    let matches = command.try_get_matches_from(&args);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(mut error) => {
            suggest_visible(&mut error);
            suggest_check(&mut error, args.get(1).map(Path::new));
            // Help and version also arrive here. If printing fails, there is nowhere to report it.
            let _ = error.print();
            return if error.use_stderr() { Exit::Error } else { Exit::Clean }.into();
        }
    };
    let prints_text = matches!(
        cli.command,
        Command::Rules(_) | Command::Explain(_) | Command::Completions(_) | Command::Man(_)
    );
    let done = match cli.command {
        Command::Serve(args) => server::run(&args),
        Command::Cleanup(args) => server::cleanup::run(&args),
        Command::Probe(args) => server::probe::run(&args),
        Command::Check(args) => check::run(&args).map(Into::into),
        Command::Diff(args) => diff::run(&args).map(Into::into),
        Command::Plan(args) => plan::run(&args, &plan_live::connect).map(Into::into),
        Command::Audit(args) => audit::run(&args),
        Command::Wait(args) => wait::run(&args),
        Command::Export(args) => export::run(&args).map(Into::into),
        Command::Inject(args) => inject::run(&args).map(Into::into),
        Command::Try(args) => try_command::run(&args).map(Into::into),
        Command::Rules(args) => explain::list(&args).map(Into::into),
        Command::Explain(args) => explain::explain(&args).map(Into::into),
        Command::Lsp(args) => lsp::run(args).map(Into::into),
        Command::Mcp(args) => mcp::run(&args),
        Command::Completions(args) => completions(&args).map(Into::into),
        Command::Man(args) => man(&args).map(Into::into),
        Command::Version(args) => version(args.format).map(Into::into),
    };
    done.unwrap_or_else(|error| {
        // A closed pipe (`| head`) needs no message.
        let is_closed = is_broken_pipe(&error);
        if !is_closed {
            let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "error: {error:#}");
        }
        if is_closed && prints_text { Exit::Clean } else { Exit::Error }.into()
    })
}

/// The hidden names of commands are for people who know them from other programs.
fn suggest_visible(error: &mut clap::Error) {
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let all = Cli::command();
        let is_visible = |name: &String| all.get_subcommands().any(|it| it.get_name() == name);
        let names: Vec<_> = names.into_iter().filter(is_visible).collect();
        match names.is_empty() {
            true => error.remove(ContextKind::Suggested),
            false => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names)),
        };
    }
}

/// People write `setguard FILE`.
fn suggest_check(error: &mut clap::Error, first: Option<&Path>) {
    if let (ErrorKind::InvalidSubcommand, Some(path)) =
        (error.kind(), first.filter(|it| it.exists()))
    {
        error.remove(ContextKind::SuggestedSubcommand);
        let tip =
            format!("to check it, use 'setguard check {}'", one_line(&path.to_string_lossy()));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "setguard", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Exit::Clean)
}

fn version(format: explain::Format) -> anyhow::Result<Exit> {
    let text = match format {
        explain::Format::Text => Cli::command().render_version(),
        explain::Format::Json => {
            format!("{}\n", serde_json::json!({ "version": env!("CARGO_PKG_VERSION") }))
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    match &args.folder {
        Some(folder) => {
            let written = clap_mangen::generate_to(command(), folder);
            written.with_context(|| format!("{}: cannot be written", folder.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command().disable_help_subcommand(true)).render(&mut page)?;
            io::stdout().write_all(&page)?;
        }
    }
    Ok(Exit::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
