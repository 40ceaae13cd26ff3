//! `setguard check`: manifests in, a report out. It translates; the engine judges.

pub(crate) mod judge;
pub(crate) mod previous;
mod together;

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use clap::{Args, ValueEnum, error::ErrorKind};

use crate::{
    exit::Exit,
    manifests::{
        document,
        namespaces::Namespaces,
        source::{self, Source},
    },
    policy::{Policy, args::PolicyArgs},
    report::{self, Report, Summary},
    yaml,
};
use judge::{Change, Judge};
use previous::Previous;
use together::Together;

/// Judge manifests as the API server and the webhook would, without a cluster
///
/// Reads files, folders (every .yaml, .yml and .json below them, but not what is hidden) and, as
/// `-`, standard input. DaemonSets and StatefulSets are judged, also inside a List, each alone and
/// then together with each other and with the Services, Deployments, ReplicaSets, Jobs and
/// ReplicationControllers of the same run; everything else is passed over.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  nothing would be denied
  1  at least one object would be denied
  2  wrong usage, a wrong policy, or input that cannot be read (whatever else was found)

Examples:
  setguard check daemonset.yaml
  setguard check deploy/ --policy policy.yaml --kube-version 1.36
  helm template . | setguard check -
  kubectl kustomize overlays/prod | setguard check - --deny-warnings
  git worktree add ../main main && setguard check deploy/ --against ../main/deploy/")]
pub struct CheckArgs {
    /// Files and folders; `-` is standard input
    #[arg(value_name = "PATH|-")]
    paths: Vec<PathBuf>,
    /// How to print what is found
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The manifests as they were: what is there too is judged as a change of it, so that what
    /// cannot be changed is found. May be given more than once
    #[arg(long, value_name = "PATH")]
    against: Vec<PathBuf>,
    /// Deny what would only be warned of
    #[arg(long)]
    deny_warnings: bool,
}

/// How the report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the line marked
    #[default]
    Text,
    /// One JSON document for programs: findings in the order of files, objects and discovery, those
    /// that only the whole input gives last
    Json,
}

/// `setguard check`.
///
/// # Errors
/// When the policy or a gate is wrong, or the report cannot be written.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    if args.paths.is_empty() {
        let mut command = CheckArgs::augment_args(clap::Command::new("setguard check"));
        let message = "which manifests? Give files or folders, or - for standard input";
        let _ = command.error(ErrorKind::MissingRequiredArgument, message).print();
        return Ok(Exit::Trouble);
    }
    let Some(policy) = load_policy(&args.policy)? else { return Ok(Exit::Trouble) };
    let mut trouble = Exit::Clean;
    let mut complain = |message: String| {
        trouble = Exit::Trouble;
        let _ = writeln!(anstream::stderr(), "error: {message}");
    };
    let (mut asked, mut ask) = (Namespaces::default(), Namespaces::default());
    let mut previous = Previous::default();
    for source in source::looked_through(&args.against, &mut |text| asked.add(text)) {
        match source {
            Ok((source, _)) => previous.add(&source).into_iter().for_each(&mut complain),
            Err(message) => complain(message),
        }
    }

    let sources = source::looked_through(&args.paths, &mut |text| ask.add(text));
    let namespaces = Change { old: asked, new: ask };
    let judge = Judge::new(&policy, &previous, namespaces, args.deny_warnings);
    let mut report = args.format.report();
    let mut summary = Summary::default();
    let mut together = Together::default();
    for source in sources {
        match source {
            Ok((source, again)) => {
                summary.files += 1;
                check(&source, &judge, &mut together, &mut summary, report.as_mut())?;
                together.source(again, source);
            }
            Err(message) => complain(message),
        }
    }
    together.tell(&judge, &mut summary, report.as_mut())?;
    report.finish(&summary)?;
    Ok(trouble.and(summary.exit()))
}

/// Judges all documents of a source, one after the other.
fn check(
    source: &Source,
    judge: &Judge<'_>,
    together: &mut Together,
    summary: &mut Summary,
    report: &mut dyn Report,
) -> io::Result<()> {
    let name: Arc<str> = source.name().into();
    for document in yaml::documents(source.text()) {
        match document {
            Ok(document) => {
                let found = document::manifests(document);
                summary.others += found.others;
                for node in &found.related {
                    together.related(&name, node);
                }
                for manifest in found.manifests {
                    let mut judgement = judge.judge(&manifest);
                    summary.count(&judgement);
                    report.judgement(source, &judgement)?;
                    together.judged(&name, &manifest, &mut judgement);
                }
            }
            Err(problem) => {
                summary.unreadable += 1;
                let finding = judge::syntax(problem, source.text());
                report.unreadable(source, &finding)?;
            }
        }
    }
    Ok(())
}

impl Format {
    fn report(self) -> Box<dyn Report> {
        match self {
            Format::Text => Box::new(report::text::Text::new()),
            Format::Json => Box::new(report::json::Json::default()),
        }
    }
}

/// The policy that the flags make. `None` when it is wrong, which the user knows by then.
pub(crate) fn load_policy(args: &PolicyArgs) -> anyhow::Result<Option<Policy>> {
    let source = args.policy.clone().map(|path| Source::File(path).read());
    let source = source.transpose().map_err(anyhow::Error::msg)?;
    match (args.parse(source.as_ref().map(Source::text)), source) {
        (Ok(policy), _) => Ok(Some(policy)),
        (Err(problems), Some(source)) => {
            report::text::problems(&source, &problems)?;
            Ok(None)
        }
        (Err(_), None) => Ok(None),
    }
}
