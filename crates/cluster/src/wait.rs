mod cluster;
mod decision;
mod diagnosis;
mod event;
mod flapping;
mod manifests;
mod output;
mod repair;
mod rollout_wait;
pub(crate) mod selection;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use clap::{ArgGroup, Args};
use futures::stream::FuturesUnordered;
use setguard_core::kubernetes::duration;
use setguard_files::{exit::Exit, report};
use tokio::sync::Notify;

use self::{
    cluster::{WatchedCluster, WatchedSource},
    output::{Format, Output},
    rollout_wait::RolloutWait,
};
use crate::prelude::*;
use crate::{
    live::{follower::Follower, named::named, namespace, reader::THROTTLED},
    signals,
};

/// Wait until rollouts serve, or cannot succeed
///
/// Watches DaemonSets and StatefulSets, and what is around them, with the kubeconfig or as a pod of the
/// cluster. Ends as soon as all of them serve their newest revision. Ends early, with the diagnosis of
/// `setguard audit` and the next command, when one of them cannot: an image does not exist, pods are
/// refused, a claim stays Pending, a pod of an old revision is in the way. Faults that often resolve
/// themselves get --patience. A rollout that is only slow may take all the time of --timeout.
#[derive(Debug, Args)]
#[command(
    override_usage = "setguard wait [OPTIONS] [KIND/NAME]...",
    group = ArgGroup::new("what").required(true).multiple(true)
        .args(["sets", "filename", "selector", "for_release"]),
    after_help = "\
Exit codes:
  0  all sets are rolled out, or as far as their strategy goes (partition, OnDelete)
  1  a rollout cannot succeed
  2  wrong usage, no cluster, a set that does not exist, or an answer that cannot be read
  3  the time of --timeout is up
  130, 143  a signal has ended it

--repair may do no more than this, and says each thing that it does:
  - delete the one pod of an old revision that holds up a StatefulSet (forced rollback)
  - set the annotation setguard.io/try-again on a set whose controller waits to try again

Examples:
  setguard wait statefulset/db daemonset/agent -n shop --timeout 10m
  kubectl apply -f deploy/ && setguard wait -f deploy/
  helm upgrade shop ./chart -n shop && setguard wait --for-release shop -n shop"
)]
pub struct WaitArgs {
    /// The sets: statefulset/NAME or daemonset/NAME
    #[arg(value_name = "KIND/NAME", value_parser = named)]
    sets: Vec<Named>,
    /// Waits for the sets of these files and folders; `-` is standard input
    #[arg(short, long, value_name = "PATH")]
    filename: Vec<PathBuf>,
    /// Waits for the sets that have these labels at the start; with -f, for those of the files that have them
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Waits for the sets of this Helm release; -n is the namespace of the release
    #[arg(long, value_name = "RELEASE")]
    for_release: Option<String>,
    /// The namespace of sets that name none; by default the kubeconfig's
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Exits with 3 after this time. Without it, waits without limit
    #[arg(long, value_name = "DURATION", value_parser = duration::signed)]
    timeout: Option<SignedDuration>,
    /// How long to wait for faults that often resolve themselves, such as a crash or an unschedulable pod
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::signed)]
    patience: SignedDuration,
    /// Gives up on a container after this many restarts, despite --patience
    #[arg(long, value_name = "COUNT", default_value_t = 5,
        value_parser = clap::value_parser!(i32).range(1..), hide_short_help = true)]
    restarts: i32,
    /// Succeeds if there is no set to wait for, no node gets a pod of a DaemonSet, or a partition keeps a new
    /// revision from all pods
    #[arg(long, hide_short_help = true)]
    allow_none: bool,
    /// Repairs what is safe to repair; see below
    #[arg(long)]
    repair: bool,
    /// Writes the reason into the annotation setguard.io/stuck of a stuck set, for programs such as Argo CD, and
    /// removes it when the set is done
    #[arg(long, hide_short_help = true)]
    annotate: bool,
    /// The format of the events
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    format: Format,
}

/// Runs `setguard wait`. Fails if a file or an answer cannot be read, the cluster is unreachable, or a set does not
/// exist.
pub fn run(args: &WaitArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = wait(args) => done.map(Into::into),
            code = signals::code() => Ok(code?.into()),
        }
    })
}

async fn wait(args: &WaitArgs) -> anyhow::Result<Exit> {
    let begun = Timestamp::now();
    let given = (!args.filename.is_empty()).then(|| manifests::sets(&args.filename)).transpose()?;
    let on_busy = || report::note(THROTTLED);
    let reader = Reader::connect(args.context.as_deref(), "wait", on_busy).await?;
    let release = reader.release().await?;
    let policy = Policy::default().in_cluster(release.version, &release.gates);
    let targets = targets(args, given.as_deref(), &reader).await?;
    reader.be_patient();
    let reader = Arc::new(reader);
    let output = Output::of(args.format, &targets);
    let world = RefCell::new(WatchedCluster::around(targets));
    let news = Notify::new();
    let lists = world.borrow().lists();
    let has_lists = !lists.is_empty();
    let follows: FuturesUnordered<_> = lists
        .into_iter()
        .enumerate()
        .map(|(index, list)| {
            let source = WatchedSource { cluster: &world, index, news: &news };
            Follower::new(reader.clone(), list, Times::of_commands(), source).run()
        })
        .collect();
    let mut rollout = RolloutWait::new(&reader, &world, &policy, (args, begun), output);
    tokio::select! {
        done = rollout.keep(&news) => done,
        // The followers never end. Without followers, this branch would complete at once and fail.
        () = follows.for_each(|never| async move { match never {} }), if has_lists => {
            Ok(Exit::Error)
        }
    }
}

async fn targets(
    args: &WaitArgs,
    given: Option<&[Named]>,
    reader: &Reader,
) -> anyhow::Result<Vec<Target>> {
    let namespace = args.namespace.as_deref().unwrap_or_else(|| reader.default_namespace());
    let targets = selection::choose(reader, args, given, namespace).await?;
    if targets.is_empty() && !args.allow_none {
        bail!(
            "there is no DaemonSet and no StatefulSet to wait for (looked in namespace {namespace}); \
             --allow-none takes that for a success"
        );
    }
    Ok(targets)
}
