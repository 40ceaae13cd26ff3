//! kubectl and its output.

use std::{fmt, path::PathBuf, process::Command};

use serde_json::Value;

use super::process::feed;

#[derive(Debug)]
pub struct Kubectl {
    pub program: PathBuf,
    pub kubeconfig: PathBuf,
    /// The home directory, for kubectl's cache.
    pub home: PathBuf,
}

impl Kubectl {
    pub fn run(&self, args: &[&str], stdin: &str) -> Output {
        let mut command = Command::new(&self.program);
        command.args(args).env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home);
        // kubectl may end before it has read everything; its stderr then gives the reason.
        let output = feed(&mut command, stdin.as_bytes());
        Output {
            args: args.join(" "),
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The words of a command, to run.
pub fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

#[derive(Debug)]
pub struct Output {
    args: String,
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Output { args, stdout, stderr, .. } = self;
        write!(f, "kubectl {args}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

impl Output {
    #[track_caller]
    pub fn accepted(self) -> Self {
        assert!(self.success, "expected success of {self}");
        self
    }

    /// Asserts success without a warning.
    #[track_caller]
    pub fn silently(self) -> Self {
        let output = self.accepted();
        assert_eq!(output.stderr, "", "expected no warning from {output}");
        output
    }

    /// Asserts success with a warning of this rule.
    #[track_caller]
    pub fn with_warning(self, rule: &str) -> Self {
        let output = self.accepted();
        let start = format!("Warning: {rule}");
        assert!(
            output.stderr.lines().any(|line| line.starts_with(&start)),
            "expected a warning by {rule} from {output}"
        );
        output
    }

    /// Asserts failure with all of these texts on stderr.
    #[track_caller]
    pub fn refused(self, texts: &[&str]) -> Self {
        assert!(!self.success, "expected failure of {self}");
        for text in texts {
            assert!(self.stderr.contains(text), "expected {text:?} from {self}");
        }
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        assert!(self.success, "expected success of {self}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {self}"))
    }
}
