//! The policy: read before the port is bound, read again when its file changes.

use std::{fmt, fs, io, path::PathBuf, sync::Arc};

use super::app::App;
use crate::{
    policy::{Policy, args::PolicyArgs},
    yaml::Problem,
};

/// Why there is no policy.
#[derive(Debug)]
pub enum PolicyError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file is not a policy.
    Problems(PathBuf, Vec<Problem>),
}

impl std::error::Error for PolicyError {}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::Read(path, error) => {
                write!(f, "{}: cannot be read: {error}", path.display())
            }
            PolicyError::Problems(path, problems) => {
                write!(f, "{}: the policy cannot be used", path.display())?;
                for problem in problems {
                    write!(f, "\n  {}:{}", path.display(), line(problem))?;
                }
                Ok(())
            }
        }
    }
}

/// `line:column: field: message (help)`.
fn line(problem: &Problem) -> String {
    let mut text = format!("{}:{}: ", problem.mark.line, problem.mark.column);
    let field = problem.field.to_string();
    if !field.is_empty() {
        text.push_str(&field);
        text.push_str(": ");
    }
    text.push_str(&problem.message);
    if let Some(help) = &problem.help {
        text.push_str(&format!(" ({help})"));
    }
    text
}

fn read(args: &PolicyArgs) -> Result<Option<String>, PolicyError> {
    let Some(path) = &args.policy else { return Ok(None) };
    let text = fs::read_to_string(path);
    text.map(Some).map_err(|error| PolicyError::Read(path.clone(), error))
}

fn parse(args: &PolicyArgs, text: Option<&str>) -> Result<Policy, PolicyError> {
    let path = args.policy.clone().unwrap_or_default();
    args.parse(text).map_err(|problems| PolicyError::Problems(path, problems))
}

/// Reads the policy for the first time.
///
/// # Errors
/// Everything that is wrong with it, with its lines.
pub fn load(args: PolicyArgs) -> Result<(Policy, Reloader), PolicyError> {
    let text = read(&args)?;
    let policy = parse(&args, text.as_deref())?;
    Ok((policy, Reloader { args, seen: Ok(text) }))
}

/// Reads the policy again when it has changed.
#[derive(Debug)]
pub struct Reloader {
    args: PolicyArgs,
    /// What was seen last, good or bad: each change is tried, and spoken of, once.
    seen: Result<Option<String>, String>,
}

impl Reloader {
    /// Takes up what has changed since the last look. What is wrong is logged and counted, and the
    /// old policy stays.
    pub fn poll(&mut self, app: &App) {
        let read = read(&self.args);
        let now = read.as_ref().map(Clone::clone).map_err(ToString::to_string);
        if now == self.seen {
            return;
        }
        self.seen = now;
        match read.and_then(|text| parse(&self.args, text.as_deref())) {
            Ok(policy) => {
                app.policy.store(Arc::new(policy));
                app.metrics.policy_reloaded(true);
                tracing::info!("the policy was reloaded");
            }
            Err(error) => {
                app.metrics.policy_reloaded(false);
                if let PolicyError::Problems(path, problems) = &error {
                    for problem in problems {
                        let at = format!("{}:{}", path.display(), line(problem));
                        tracing::error!(at, "the policy is wrong");
                    }
                }
                let error = error.to_string();
                let error = error.lines().next().unwrap_or_default();
                tracing::error!(error, "the changed policy cannot be used, the old one stays");
            }
        }
    }
}
