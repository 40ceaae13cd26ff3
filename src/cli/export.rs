//! `setguard export`: the rules in forms that others evaluate.

pub mod chart;
mod conditions;
mod limits;
mod map;
mod objects;
mod stale;
mod vap;

use anyhow::bail;
use clap::Subcommand;
use setguard_core::kubernetes::cluster::since;

use self::objects::Export;

use crate::cli::prelude::*;

/// Print rules as objects that the API server evaluates itself, without a webhook
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    #[command(subcommand)]
    form: Form,
}

#[derive(Debug, Subcommand)]
enum Form {
    Vap(VapArgs),
    Map(MapArgs),
}

/// Print rules as ValidatingAdmissionPolicies, with their bindings
///
/// The API server evaluates them itself: no server has to run, and none can be down. Each policy finds
/// what its rule finds, or less, and has the mode, the exceptions and the message of the rule. The
/// comments at the start list the rules that cannot be exported, with the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setguard export vap --kube-version 1.36 | kubectl apply -f -
  setguard export vap --kube-version 1.37 --static > validating/setguard.yaml")]
struct VapArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Exports only these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    rules: Vec<String>,
    /// Puts up to five rules into one policy. Before Kubernetes 1.37 a write then takes much less of the API server's
    /// time; in its metrics and at the start of its messages, policies no longer have the names of rules
    #[arg(long)]
    group: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Print the injections as MutatingAdmissionPolicies, with their bindings
///
/// The API server injects the tolerations and the node affinity itself: into pods that a paired controller
/// creates, and into the templates of DaemonSets that request it. Needs Kubernetes 1.34 or newer; before
/// 1.36, the feature gate MutatingAdmissionPolicy and the beta version of the API have to be on.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  setguard export map --kube-version 1.36 | kubectl apply -f -")]
struct MapArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// Prints a file for a folder from which kube-apiserver itself reads policies (staticManifestsDir), before it
    /// answers the first request. Needs Kubernetes 1.36 with a feature gate, or 1.37
    #[arg(long = "static")]
    is_static: bool,
    /// Compares this file, or - for standard input, with what the export prints now: prints the policies that differ,
    /// and ends with 1. It may also be what `kubectl get -o yaml` prints
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let (flags, output) = match &args.form {
        Form::Vap(args) => (&args.policy, &args.output),
        Form::Map(args) => (&args.policy, &args.output),
    };
    let source = report::policy::read(flags)?;
    let Some(policy) = report::policy::parse(flags, source.as_ref())? else {
        return Ok(Exit::Error);
    };
    let release = policy.cluster.version;
    if output.is_static && !policy.cluster.has(since::STATIC_ADMISSION_ALPHA) {
        bail!(
            "--static: kube-apiserver reads no policies from files before 1.36, and this is {release}"
        );
    }
    let Export { mut header, mut objects } = match &args.form {
        Form::Vap(args) => {
            known(&args.rules)?;
            let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
            let mut export = vap::export(&policy, &args.rules, today);
            if args.group {
                export.objects = objects::grouped(export.objects);
            }
            export
        }
        Form::Map(_) => map::export(&policy)?,
    };
    if output.is_static {
        if !policy.cluster.has(since::STATIC_ADMISSION) {
            header.push_str(GATE);
        }
        if matches!(args.form, Form::Map(_)) {
            objects.retain(objects::is_mutating);
            header.push_str(map::ALONE);
        }
        objects.iter_mut().for_each(objects::make_static);
        if objects.is_empty() {
            bail!(
                "--static: there is nothing to export, and kube-apiserver refuses a file without policies"
            );
        }
    }
    let text = objects::yaml(header, &objects, output.is_static)?;
    if let Some(path) = &output.check {
        return stale::check(path, &text, matches!(args.form, Form::Map(_)));
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

const GATE: &str =
    "# kube-apiserver needs --feature-gates=ManifestBasedAdmissionControlConfig=true.\n";

fn known(rules: &[String]) -> anyhow::Result<()> {
    for id in rules {
        if catalogue::find(id).is_none() {
            let near = catalogue::nearest(id).map(|near| format!("; did you mean {near}?"));
            bail!("--rules: there is no rule {id:?}{}", near.unwrap_or_default());
        }
    }
    Ok(())
}
