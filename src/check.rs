//! `setguard check`: reads manifests, runs the engine on them, and reports what it finds.
//!
//! Imports: report, engine, policy, inject, manifests, apply, rules, inventory, object, kubernetes,
//! yaml, finding, exit, printable.

mod cross_object;
mod judge;
mod previous;

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use clap::{Args, ValueEnum, error::ErrorKind};

use self::{
    cross_object::CrossObject,
    judge::{Judge, Surroundings},
    previous::Previous,
};
use crate::{
    apply::Verb,
    exit::Exit,
    manifests::{
        document::DocumentObjects,
        source::{self, Source},
        volumes,
    },
    policy::args::PolicyArgs,
    printable::Printable,
    report::{self, Report, diagnostic::Summary},
    yaml,
};

/// Check manifests as the API server and the webhook would, without a cluster
///
/// Reads files, folders (every .yaml, .yml and .json file below them, except hidden ones) and
/// standard input (`-`). Checks DaemonSets and StatefulSets, also those inside a List: each alone,
/// then together with each other and with the Services, Deployments, ReplicaSets, Jobs and
/// ReplicationControllers of the same run. Skips everything else. What kubectl would refuse because it
/// is no object is input that cannot be read; in a folder only if it seems to be meant as one.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  nothing would be denied
  1  at least one object would be denied
  2  wrong usage, an invalid policy, or input that cannot be read (whatever else was found)

Examples:
  setguard check daemonset.yaml
  setguard check deploy/ --policy policy.yaml --kube-version 1.36
  helm template . | setguard check -
  kubectl kustomize overlays/prod | setguard check - --deny-warnings
  git worktree add ../main main && setguard check deploy/ --against ../main/deploy/
  kubectl get sts,ds -A -o yaml --show-managed-fields > live.yaml
  setguard check deploy/ --against live.yaml --as server-side-apply")]
pub struct CheckArgs {
    /// Files and folders; `-` is standard input
    #[arg(value_name = "PATH|-")]
    paths: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The previous manifests: an object that is also in them is checked as an update, so that
    /// changes of immutable fields are found. May be given more than once
    #[arg(long, value_name = "PATH")]
    against: Vec<PathBuf>,
    /// The command by which the manifests will reach the cluster. It decides what becomes of fields
    /// that the previous object has and the manifest leaves out
    #[arg(long = "as", value_enum, default_value_t, value_name = "VERB", requires = "against")]
    verb: Verb,
    /// Treat warnings as denials
    #[arg(long)]
    deny_warnings: bool,
}

/// How the report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the affected line
    #[default]
    Text,
    /// One JSON document for programs: findings in the order of files, objects and discovery, and
    /// last those that need the whole input
    Json,
}

/// `setguard check`.
///
/// # Errors
/// When the policy or a feature gate is invalid, or the report cannot be written.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    if args.paths.is_empty() {
        let mut command = CheckArgs::augment_args(clap::Command::new("setguard check"));
        let message = "which manifests? Give files or folders, or - for standard input";
        let _ = command.error(ErrorKind::MissingRequiredArgument, message).print();
        return Ok(Exit::Error);
    }
    let Some(policy) = report::policy::load(&args.policy)? else { return Ok(Exit::Error) };
    let mut trouble = Exit::Clean;
    let mut complain = |message: String| {
        trouble = Exit::Error;
        let _ = writeln!(Printable::new(anstream::stderr()), "error: {message}");
    };
    let mut beside = Surroundings::default();
    let mut previous = Previous::default();
    for source in source::scan_then_read(&args.against, &mut |text| beside.old_namespaces.add(text))
    {
        match source {
            Ok((source, _)) => previous.add(&source).into_iter().for_each(&mut complain),
            Err(message) => complain(message),
        }
    }

    let sources = source::scan_then_read(&args.paths, &mut |text| {
        beside.namespaces.add(text);
        volumes::add(&mut beside.storage, text);
    });
    let judge = Judge::new(&policy, &previous, args.verb, beside, args.deny_warnings);
    let mut report = args.format.report();
    let mut summary = Summary::default();
    let mut cross_object = CrossObject::default();
    for source in sources {
        match source {
            Ok((source, again)) => {
                summary.files += 1;
                check(&source, &judge, &mut cross_object, &mut summary, report.as_mut())?;
                cross_object.source(again, source);
            }
            Err(message) => complain(message),
        }
    }
    cross_object.report(&judge, &mut summary, report.as_mut())?;
    report.finish(&summary)?;
    Ok(trouble.and(summary.exit()))
}

/// Judges all documents of a source, one after the other.
fn check(
    source: &Source,
    judge: &Judge<'_>,
    cross_object: &mut CrossObject,
    summary: &mut Summary,
    report: &mut dyn Report,
) -> io::Result<()> {
    let name: Arc<str> = source.name().into();
    for document in yaml::documents(source.text()) {
        match document {
            Ok(document) => {
                let objects = DocumentObjects::of(document, source.is_named());
                summary.others += objects.others;
                summary.passed_over += objects.passed_over;
                for problem in objects.strays {
                    summary.unreadable += 1;
                    let diagnostic = judge::syntax(problem, source.text());
                    report.unreadable(source, &diagnostic)?;
                }
                for node in &objects.related {
                    cross_object.related(&name, node);
                }
                for manifest in objects.manifests {
                    let judged = judge.judge(&manifest);
                    summary.count(&judged.report);
                    report.object(source, &judged.report)?;
                    cross_object.judged(&name, &manifest, judged);
                }
            }
            Err(problem) => {
                summary.unreadable += 1;
                let diagnostic = judge::syntax(problem, source.text());
                report.unreadable(source, &diagnostic)?;
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
