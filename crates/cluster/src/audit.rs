//! `setguard audit`: a running cluster in, a report out.

mod against;
mod cluster_reports;
mod evaluator;
mod fold;
mod found;
mod metrics;
mod output;
mod scan;
mod webhook_health;

use std::{convert::Infallible, io::Write as _, path::PathBuf, process::ExitCode};

use clap::Args;
use setguard_core::{kubernetes::duration, printable::Printable};
use setguard_files::prelude::*;

use self::{
    against::EarlierReport,
    cluster_reports::{ClusterReports, Unwritten},
    evaluator::Evaluator,
    metrics::Metrics,
    output::Output,
    scan::{Seen, scan},
    webhook_health::WebhookHealth,
};
use crate::prelude::*;
use crate::{
    live::{named::named, namespace, reader::THROTTLED},
    signals,
};

const TICK: Duration = Duration::from_millis(200);

/// Check a running cluster: what is wrong with its DaemonSets and StatefulSets, and why
///
/// Reads the cluster with the kubeconfig, or as a pod of the cluster, and changes nothing unless
/// --cluster-reports is set. Checks each DaemonSet and StatefulSet as it is stored, together with the
/// objects around it, and its status. If setguard is registered as a webhook, checks that the API server
/// calls it. Never reads Secrets or ConfigMaps; lists the pods of a
/// namespace only if a set in it is not healthy. It lists what it may not read, and checks the rest.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  no error
  1  at least one error: something that would be denied, a set without a
     ready pod although it should have some, with --deny-warnings also a
     warning; or setguard is registered as a webhook and is not called
  2  wrong usage, an invalid policy, no cluster, or an answer that cannot be
     read; with --strict also if something may not be read
  130, 143  a signal has ended it

Examples:
  setguard audit
  setguard audit -n shop -n kube-system --context prod
  setguard audit statefulset/db -n shop
  setguard audit --format json --against last.json > now.json
  setguard audit --format json --policy policy.yaml
  setguard audit --output sarif=cluster.sarif --output junit=cluster.xml")]
pub struct AuditArgs {
    /// Audits only these sets, such as statefulset/db, of the namespace of -n or of the kubeconfig
    #[arg(value_name = "KIND/NAME", value_parser = named, conflicts_with_all = ["all_namespaces", "cluster_reports"])]
    sets: Vec<Named>,
    /// Audits all namespaces, as without -n
    #[arg(short = 'A', long, conflicts_with = "namespaces")]
    all_namespaces: bool,
    /// Audits only this namespace. You can repeat it
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_parser = namespace)]
    namespaces: Vec<String>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Writes a report to the cluster for each object with a finding
    #[arg(long, value_enum, default_value_t, value_name = "API", hide_short_help = true)]
    cluster_reports: ClusterReports,
    /// Writes metrics to this file, for the textfile collector of node_exporter. It is not touched if
    /// the audit fails
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    metrics_file: Option<PathBuf>,
    /// How long a pod can be missing or not ready before it is reported
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::signed)]
    patience: SignedDuration,
    /// Treats warnings as denials
    #[arg(long)]
    deny_warnings: bool,
    /// Exits with 0 despite findings, for a Job that only reports
    #[arg(long, hide_short_help = true)]
    exit_zero: bool,
    /// Compares with an earlier audit, given as its JSON: what is new, what remains, what is resolved
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Exits with 2 if a right is missing
    #[arg(long, hide_short_help = true)]
    strict: bool,
}

/// Runs `setguard audit`. Fails if the policy or a feature gate is invalid, the cluster is unreachable, or a report
/// cannot be written.
pub fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let Some(policy) = report::policy::load(&args.policy)? else { return Ok(Exit::Error.into()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let progress = Arc::new(Mutex::new(Progress::reading()));
        tokio::select! {
            done = audit(args, policy, progress.clone()) => done.map(Into::into),
            never = tick(&progress) => match never {},
            // Dropping `audit` removes the prepared files and the progress bar.
            code = signals::code() => Ok(code?.into()),
        }
    })
}

async fn tick(progress: &Mutex<Progress>) -> Infallible {
    loop {
        sleep(TICK).await;
        progress.lock().tick();
    }
}

async fn audit(
    args: &AuditArgs,
    policy: Policy,
    progress: Arc<Mutex<Progress>>,
) -> anyhow::Result<Exit> {
    let earlier = args.against.as_deref().map(EarlierReport::read).transpose()?;
    let reports = Reports::open(&args.output, &Repository::find(), &policy)?;
    let metrics = args.metrics_file.as_deref().map(|path| Metrics::create(path, &policy));
    let metrics = metrics.transpose()?;
    let reader = connect(args, progress.clone()).await?;
    let release = reader.release().await?;
    let policy = policy.in_cluster(release.version, &release.gates);
    let strictness = Strictness { deny_warnings: args.deny_warnings };
    let evaluator = Evaluator { policy: &policy, strictness, now: Timestamp::now() };
    let namespaces = namespaces(args, &reader)?;
    let mut seen = scan(&reader, &evaluator, &namespaces, progress.clone()).await;
    progress.lock().end();
    if !seen.has_read_sets {
        return Err(nothing_read(&seen, &namespaces));
    }
    let audit = Audit {
        observed: &seen.observed,
        cluster: &policy.cluster,
        now: evaluator.now,
        patience: args.patience,
        context: args.context.as_deref(),
    };
    seen.found.status(&audit, &evaluator);
    if let (false, [namespace, ..]) = (args.sets.is_empty(), &*namespaces) {
        let absent = seen.found.keep(&args.sets, namespace, &seen.observed);
        seen.missing.failures.extend(absent);
    }
    let written = cluster_reports::write(
        args.cluster_reports,
        &reader,
        &namespaces,
        &seen.found,
        seen.missing.has_all_sets(),
    );
    match written.await {
        Ok(()) => {}
        Err(Unwritten::NotServed(why)) => seen.missing.notes.push(why),
        Err(Unwritten::Failed(why)) => seen.missing.failures.push(why),
    }
    // A user who audits only some namespaces may not have the right to read cluster-scoped objects.
    let guard = match namespaces.is_empty() {
        true => webhook_health::look(&reader, evaluator.now).await,
        false => WebhookHealth::default(),
    };
    let output =
        Output { args, namespaces: &namespaces, begun: evaluator.now, reports, metrics, earlier };
    output.write(seen, guard)
}

/// Connects to the API server. If the API server throttles the audit, prints a note next to the progress bar.
async fn connect(args: &AuditArgs, bar: Arc<Mutex<Progress>>) -> anyhow::Result<Reader> {
    let on_busy = move || {
        let say = || writeln!(Printable::new(anstream::stderr()).guarded(), "note: {THROTTLED}");
        // The lock is free: the reader sends no request while it handles a page.
        let _ = bar.try_lock().map(|bar| bar.aside(say));
    };
    Reader::connect(args.context.as_deref(), "audit", on_busy).await
}

/// Returns the namespaces to audit, sorted. An empty list means all namespaces.
fn namespaces(args: &AuditArgs, reader: &Reader) -> anyhow::Result<Vec<String>> {
    let mut namespaces = args.namespaces.clone();
    namespaces.sort();
    namespaces.dedup();
    if !args.sets.is_empty() && namespaces.is_empty() {
        namespaces.push(reader.default_namespace().to_owned());
    }
    if let (false, [one, other, ..]) = (args.sets.is_empty(), &*namespaces) {
        bail!("in which namespace are these sets, {one} or {other}? Name one with -n");
    }
    Ok(namespaces)
}

fn nothing_read(seen: &Seen, namespaces: &[String]) -> anyhow::Error {
    seen.missing.forbidden().chain(seen.missing.failures.iter().cloned()).for_each(|why| {
        let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "error: {why}");
    });
    let advice = match seen.missing.is_forbidden() && namespaces.is_empty() {
        true => "; name namespaces with -n",
        false => "",
    };
    anyhow!("neither DaemonSets nor StatefulSets can be read{advice}")
}
