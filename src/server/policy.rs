//! The policy: read before the port is bound, and again when its file changes.

use setguard_files::{
    error::FileError,
    policy_file::args::{PolicyArgs, PolicyError},
};

use super::files::{self, Patience};
use crate::server::prelude::*;

/// The behavior of a server that starts with a policy that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum IfInvalid {
    /// End with exit code 2
    #[default]
    Exit,
    /// Serve with the default policy, in which rules that would deny only warn
    Warn,
}

/// Reads the policy for the first time. [`Reloader::report`] reports a policy that cannot be used. The error is
/// everything that is wrong with the policy, with line numbers, unless the server is to continue.
pub fn load(args: PolicyArgs, if_invalid: IfInvalid) -> Result<(Policy, Reloader), PolicyError> {
    let mut patience = Patience::default();
    let text = read(&args, &mut patience);
    let seen = text.as_ref().map(Clone::clone).map_err(ToString::to_string);
    let (policy, invalid) = match text.and_then(|text| args.parse(text.as_deref())) {
        Ok(policy) => (policy, None),
        Err(error) if if_invalid == IfInvalid::Warn => (args.fallback(), Some(error)),
        Err(error) => return Err(error),
    };
    Ok((policy, Reloader { args, seen, invalid, patience }))
}

type Read = Result<Option<String>, PolicyError>;

fn read(args: &PolicyArgs, patience: &mut Patience<Read>) -> Read {
    let Some(path) = args.policy.clone() else { return Ok(None) };
    let (args, name) = (args.clone(), path.display().to_string());
    let cannot = |name: &str, error: io::Error| {
        PolicyError::Read(FileError::Read { name: name.to_owned(), error })
    };
    let read = move || {
        files::check(&path).map_err(|error| cannot(&path.display().to_string(), error))?;
        args.read()
    };
    patience.wait(read).unwrap_or_else(|error| Err(cannot(&name, error)))
}

/// Reads the policy again when it has changed.
#[derive(Debug)]
pub struct Reloader {
    args: PolicyArgs,
    /// The result of the last read, valid or not, so that each change is tried and logged only once.
    seen: Result<Option<String>, String>,
    /// The problem with the first policy, until it is reported.
    invalid: Option<PolicyError>,
    patience: Patience<Read>,
}

impl Reloader {
    /// If the server starts without its policy, logs and counts that.
    pub fn report(&mut self, app: &App) {
        if let Some(error) = self.invalid.take() {
            failed(
                app,
                &error,
                "the policy cannot be used; until it is valid, the rules only warn",
            );
        }
    }

    /// Applies changes since the last call. An invalid change is logged and counted as a failure, and the old policy
    /// stays in force.
    pub fn poll(&mut self, app: &App) {
        let read = read(&self.args, &mut self.patience);
        let now = read.as_ref().map(Clone::clone).map_err(ToString::to_string);
        if now == self.seen {
            return;
        }
        self.seen = now;
        match read.and_then(|text| self.args.parse(text.as_deref())) {
            Ok(policy) => {
                app.set_policy(policy);
                app.metrics.policy_reloaded(true);
                tracing::info!("the policy was reloaded");
            }
            Err(error) => {
                let then = "the changed policy cannot be used; the old one stays in force";
                failed(app, &error, then);
            }
        }
    }
}

/// `then` is the consequence.
fn failed(app: &App, error: &PolicyError, then: &str) {
    app.metrics.policy_reloaded(false);
    if let PolicyError::Wrong { path, problems } = error {
        for problem in problems {
            let at = format!("{}:{problem}", path.display());
            tracing::error!(at, "the policy is invalid");
        }
    }
    let error = error.to_string();
    let error = error.lines().next().unwrap_or_default();
    tracing::error!(error, "{then}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_hangs_is_reported_and_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("policy.yaml");
        std::fs::write(&file, "apiVersion: setguard.io/v1alpha1\nkind: Policy\n").unwrap();
        let args = PolicyArgs { policy: Some(file), ..PolicyArgs::default() };
        let (policy, mut reloader) = load(args, IfInvalid::Exit).unwrap();
        let app = App::new(policy);
        let told = |line: &str| {
            let metrics = app.metrics.encode();
            assert!(metrics.lines().any(|have| have == line), "no {line} in {metrics}");
        };
        let hangs = reloader.patience.hang();
        reloader.poll(&app);
        reloader.poll(&app);
        told("setguard_policy_last_reload_successful 0");
        told("setguard_policy_reloads_total{result=\"failure\"} 1");
        drop(hangs);
        reloader.poll(&app);
        told("setguard_policy_last_reload_successful 1");
        told("setguard_policy_reloads_total{result=\"failure\"} 1");
    }
}
