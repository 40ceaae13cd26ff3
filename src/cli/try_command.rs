mod api_server;
mod daemon_pod;
mod manifests;
mod review;
mod webhook;

use std::io::IsTerminal as _;

use anstream::AutoStream;
use setguard_files::report::screen::Screen;

use self::{
    api_server::{ApiServer, ObjectResult},
    webhook::Webhook,
};
use crate::cli::prelude::*;
use crate::server::loopback;

/// Try the webhook without a cluster
///
/// Starts the webhook on this machine, with a certificate in memory, and plays the API server's part for each
/// DaemonSet, StatefulSet and Pod, as if it were created in an empty cluster: calls the mutating webhook over
/// HTTPS, applies its patch, validates the result, calls the validating webhook, and prints what kubectl would
/// have printed. Pods are created as --user; for each DaemonSet, one pod is created as its controller would.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  the webhook has answered, whatever the answers are; `setguard check` decides about an input
  2  wrong usage, an invalid policy, input that cannot be read, or nothing to try

Examples:
  setguard try deploy/
  helm template . | setguard try - --policy policy.yaml")]
pub(super) struct TryArgs {
    /// Files and folders; `-` is standard input
    #[arg(value_name = "PATH|-", required = true)]
    paths: Vec<PathBuf>,
    /// The user who creates the pods of the input; by default the first paired controller of the policy
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
}

pub(super) fn run(args: &TryArgs) -> anyhow::Result<Exit> {
    let Some(policy) = report::policy::load(&args.policy)? else { return Ok(Exit::Error) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    runtime.block_on(async { play(args, policy).await })
}

async fn play(args: &TryArgs, policy: Policy) -> anyhow::Result<Exit> {
    let server = loopback::start(policy.clone()).await?;
    let stdout = io::stdout();
    let screen = Screen::of_stdout(stdout.is_terminal(), AutoStream::choice(&stdout));
    let mut out = Printable::new(stdout).guarded();
    writeln!(
        out,
        "The webhook listens on https://{}, with a certificate in memory.\nNo cluster is involved: setguard \
         simulates the API server.",
        server.address
    )?;
    let first = policy.injection.paired_controllers.users.first().cloned();
    let user = args.user.clone().or(first).unwrap_or_default();
    let mut namespaces = Namespaces::default();
    let sources = listing::scan_then_read(&args.paths, &mut |text| namespaces.add(text));
    let (mut exit, mut done) = (Exit::Clean, Done::default());
    let mut api_server = ApiServer {
        webhook: Webhook::connect(&server).await?,
        policy,
        namespaces,
        user,
        now: Timestamp::now(),
    };
    for source in sources {
        let source = match source {
            Ok(source) => source,
            Err(error) => {
                writeln!(Printable::new(anstream::stderr()).guarded(), "error: {error}")?;
                exit = exit.and(Exit::Error);
                continue;
            }
        };
        let name = source.name();
        let objects =
            manifests::read(source.text(), source.is_named(), api_server.policy.cluster.version);
        done.skipped += objects.skipped;
        if !objects.given.is_empty() || !objects.problems.is_empty() {
            writeln!(out, "\n{name}")?;
        }
        for problem in &objects.problems {
            let mark = problem.mark;
            writeln!(out, "  error: {name}:{}:{}: {}", mark.line, mark.column, problem.message)?;
            exit = exit.and(Exit::Error);
        }
        for given in &objects.given {
            let result = api_server.create(given).await?;
            let mut text = Vec::new();
            result.print(&mut text)?;
            let text = String::from_utf8_lossy(&text);
            text.lines().try_for_each(|it| writeln!(out, "{}", screen.fit(it, 6)))?;
            done.add(&result);
        }
    }
    done.print(&mut out)?;
    Ok(if done.count() == 0 { exit.and(Exit::Error) } else { exit })
}

#[derive(Debug, Default)]
struct Done {
    created: usize,
    refused: usize,
    skipped: usize,
}

impl Done {
    const fn add(&mut self, result: &ObjectResult) {
        *(if result.is_created() { &mut self.created } else { &mut self.refused }) += 1;
    }

    const fn count(&self) -> usize {
        self.created + self.refused
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.count() == 0 {
            return writeln!(out, "\nThe input has no DaemonSet, no StatefulSet and no Pod.");
        }
        write!(out, "\n{} created, {} refused", self.created, self.refused)?;
        if self.skipped > 0 {
            write!(out, ", {} of other kinds skipped", self.skipped)?;
        }
        writeln!(out)
    }
}
