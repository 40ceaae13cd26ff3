//! The command, as users run it.

mod input;
mod terminal;

use std::{
    fs,
    path::{MAIN_SEPARATOR, Path},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use crate::folder::Ran;
use crate::support;

pub(crate) const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 30
      tolerations: [{operator: Exists, effect: NoSchedule}]
      containers:
      - name: agent
        image: example.com/agent:1
        resources: {requests: {cpu: 1, memory: 64Mi}, limits: {memory: 64Mi}}
";

/// One unknown field, on line 5, column 3.
pub(crate) const MISSPELT: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  minReadySecond: 5
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: a}]}
";

/// The policy of every run that names no other. Its name starts with a dot, so `check` does not
/// read it as a manifest.
const QUIET: &str = ".quiet.yaml";

/// A policy that runs only these traps, so that a new trap does not break these tests.
pub(crate) fn policy(traps: &[(&str, &str)], rest: &str) -> String {
    let mut text = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n".to_owned();
    for id in setguard::rules::traps().map(|trap| trap.meta.id) {
        let mode = traps.iter().find(|(trap, _)| *trap == id).map_or("off", |(_, mode)| mode);
        text.push_str(&format!("  {id}: {mode}\n"));
    }
    text + rest
}

/// A folder with files, in which the command runs.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(QUIET, policy(&[], "").as_bytes());
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    /// An output without the path of the folder, and without the number of rules that its policy
    /// turns off.
    pub(crate) fn anywhere(&self, output: &str) -> String {
        let output = output.replace(self.0.path().to_str().unwrap(), "FOLDER");
        let output = output.replace(&format!("FOLDER{MAIN_SEPARATOR}"), "FOLDER/");
        let mut parts = output.split("rules weakened: ");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |text, part| {
            text + "rules weakened: N" + part.trim_start_matches(|c: char| c.is_ascii_digit())
        })
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, b"")
    }

    pub(crate) fn feed(&self, args: &[&str], stdin: &[u8]) -> Ran {
        support::feed(&mut setguard(self.0.path(), args), stdin).into()
    }
}

pub(crate) fn setguard(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("SETGUARD_POLICY", folder.join(QUIET))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Feeds one text to `check -`.
fn check(text: &str) -> Ran {
    Folder::new([]).feed(&["check", "-"], text.as_bytes())
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new([]);
    let text = |name: &str| fs::read_to_string(folder.0.path().join(name)).unwrap();
    let page = folder.run(&["man"]).stdout;
    assert!(page.contains(".TH setguard 1"), "{page}");
    let ran = folder.run(&["man", "."]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    assert_eq!(text("setguard.1"), page);
    let check = text("setguard-check.1");
    assert!(check.contains("setguard\\-check") && check.contains("Exit codes:"), "{check}");
    let ran = folder.run(&["man", "none"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: none: cannot be written"), "{ran:?}");
}

#[test]
fn the_rules_are_listed_and_explained() {
    let folder = Folder::new([]);
    let table = folder.run(&["rules"]);
    let json: Value =
        serde_json::from_str(&folder.run(&["rules", "--format", "json"]).stdout).unwrap();
    let rules = json.as_array().unwrap();
    assert_eq!(table.stdout.lines().count(), rules.len() + 1, "{}", table.stdout);
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let line = table.stdout.lines().find(|line| line.split(' ').next() == Some(id)).unwrap();
        assert!(line.contains(rule["mode"].as_str().unwrap()), "{line}");
        let explained = folder.run(&["explain", id]);
        assert_eq!(explained.code, 0);
        assert!(explained.stdout.starts_with(&format!("{id}: ")), "{}", explained.stdout);
    }
    let explained = folder.run(&["explain", "partition-covers-all"]).stdout;
    for part in ["Mode:", "Why:", "Bad:", "Good:"] {
        assert!(explained.contains(part), "{explained}");
    }
}

#[test]
fn help_shows_how() {
    let folder = Folder::new([]);
    let help = folder.run(&["check", "--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for part in ["Exit codes:", "Examples:", "--against", "--deny-warnings"] {
        assert!(help.stdout.contains(part), "{}", help.stdout);
    }
    let version = folder.run(&["--version"]).stdout;
    assert_eq!(version, format!("setguard {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(script.stdout.contains("deny-warnings"), "{shell}");
    }
}
