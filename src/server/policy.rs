//! The policy: read before the port is bound, and again when its file changes.

use std::sync::Arc;

use super::{app::App, files};
use crate::policy::{
    Policy,
    args::{PolicyArgs, PolicyError},
};

/// Reads the policy for the first time.
///
/// # Errors
/// Everything that is wrong with it, with line numbers.
pub fn load(args: PolicyArgs) -> Result<(Policy, Reloader), PolicyError> {
    let text = read(&args)?;
    let policy = args.parse(text.clone())?;
    Ok((policy, Reloader { args, seen: Ok(text) }))
}

fn read(args: &PolicyArgs) -> Result<Option<String>, PolicyError> {
    if let Some(path) = &args.policy {
        files::check(path).map_err(|error| {
            PolicyError::Read(format!("{}: cannot be read: {error}", path.display()))
        })?;
    }
    args.read()
}

/// Reads the policy again when it has changed.
#[derive(Debug)]
pub struct Reloader {
    args: PolicyArgs,
    /// What was read last, valid or not, so that each change is tried and logged only once.
    seen: Result<Option<String>, String>,
}

impl Reloader {
    /// Applies what has changed since the last call. If it is invalid, this logs and counts the
    /// failure, and the old policy stays in force.
    pub fn poll(&mut self, app: &App) {
        let read = read(&self.args);
        let now = read.as_ref().map(Clone::clone).map_err(ToString::to_string);
        if now == self.seen {
            return;
        }
        self.seen = now;
        match read.and_then(|text| self.args.parse(text)) {
            Ok(policy) => {
                app.policy.store(Arc::new(policy));
                app.metrics.policy_reloaded(true);
                tracing::info!("the policy was reloaded");
            }
            Err(error) => {
                app.metrics.policy_reloaded(false);
                if let PolicyError::Wrong { path, problems, .. } = &error {
                    for problem in problems {
                        let at = format!("{}:{problem}", path.display());
                        tracing::error!(at, "the policy is invalid");
                    }
                }
                let error = error.to_string();
                let error = error.lines().next().unwrap_or_default();
                tracing::error!(
                    error,
                    "the changed policy cannot be used; the old one stays in force"
                );
            }
        }
    }
}
