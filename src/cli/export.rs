//! `setguard export`: the rules in forms that others evaluate.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

mod map;
mod objects;
mod stale;
mod vap;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::bail;
use clap::{Args, Subcommand};

use crate::{catalogue, exit::Exit, policy::args::PolicyArgs, report};

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
Example:
  setguard export vap --kube-version 1.36 | kubectl apply -f -")]
struct VapArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Exports only these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    rules: Vec<String>,
    #[command(flatten)]
    check: CheckArgs,
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
    check: CheckArgs,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Compares this file with what the export prints now: prints the policies that differ, and ends with 1
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Runs `setguard export`.
///
/// # Errors
/// Returns an error if the policy is invalid, or names a rule that does not exist; and if the release has no
/// such policies.
pub(super) fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let (flags, check) = match &args.form {
        Form::Vap(args) => (&args.policy, &args.check),
        Form::Map(args) => (&args.policy, &args.check),
    };
    let source = report::policy::read(flags)?;
    let Some(policy) = report::policy::parse(flags, source.as_ref())? else {
        return Ok(Exit::Error);
    };
    let text = match &args.form {
        Form::Vap(args) => {
            known(&args.rules)?;
            let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
            vap::yaml(&policy, &args.rules, today)?
        }
        Form::Map(_) => map::yaml(&policy)?,
    };
    if let Some(path) = &check.check {
        return stale::check(path, &text);
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

/// Checks that all rules exist.
fn known(rules: &[String]) -> anyhow::Result<()> {
    for id in rules {
        if catalogue::find(id).is_none() {
            let near = catalogue::nearest(id).map(|near| format!("; did you mean {near}?"));
            bail!("--rules: there is no rule {id:?}{}", near.unwrap_or_default());
        }
    }
    Ok(())
}
