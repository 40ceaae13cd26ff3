//! `setguard export`: the rules in forms that others evaluate.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

mod vap;

use std::io::{self, Write as _};

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
}

/// Runs `setguard export`.
///
/// # Errors
/// Returns an error if the policy is invalid, or names a rule that does not exist.
pub(super) fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let Form::Vap(args) = &args.form;
    for id in &args.rules {
        if catalogue::find(id).is_none() {
            let near = catalogue::nearest(id).map(|near| format!("; did you mean {near}?"));
            bail!("--rules: there is no rule {id:?}{}", near.unwrap_or_default());
        }
    }
    let source = report::policy::read(&args.policy)?;
    let Some(policy) = report::policy::parse(&args.policy, source.as_ref())? else {
        return Ok(Exit::Error);
    };
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let text = vap::yaml(&policy, &args.rules, today)?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}
