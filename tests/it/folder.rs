//! A folder with files where the tests run commands.

use std::path::MAIN_SEPARATOR;

use tempfile::TempDir;

use crate::prelude::*;

#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    pub fn prints(self, text: impl AsRef<str>) -> Self {
        assert!(self.stdout.contains(text.as_ref()), "{:?} in {self:?}", text.as_ref());
        self
    }

    #[track_caller]
    pub fn prints_no(self, text: impl AsRef<str>) -> Self {
        assert!(!self.stdout.contains(text.as_ref()), "{:?} in {self:?}", text.as_ref());
        self
    }

    #[track_caller]
    pub fn reports(self, text: impl AsRef<str>) -> Self {
        assert!(self.stderr.contains(text.as_ref()), "{:?} in {self:?}", text.as_ref());
        self
    }

    #[track_caller]
    pub fn reports_only(self, text: impl AsRef<str>) -> Self {
        assert_eq!(self.stderr, text.as_ref(), "{self:?}");
        self
    }
}

/// The policy of every run in a folder that contains it and names no other. The leading dot hides it from `check`.
const QUIET: &str = ".quiet.yaml";

pub fn policy(rest: &str) -> String {
    format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{rest}")
}

pub struct Folder(pub TempDir);

impl Folder {
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub fn quiet<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let folder = Folder::new(files);
        folder.write(QUIET, crate::cli::policy(&[], ""));
        folder
    }

    /// Removes the folder's path from an output, and the number of rules that the policy turns off.
    pub fn anywhere(&self, output: &str) -> String {
        let output = output.replace(self.0.path().to_str().unwrap(), "FOLDER");
        let output = output.replace(&format!("FOLDER{MAIN_SEPARATOR}"), "FOLDER/");
        let mut parts = output.split("rules weakened: ");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |text, part| {
            text + "rules weakened: N" + part.trim_start_matches(|c: char| c.is_ascii_digit())
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command in this folder, with only `PATH` and the home folder in its environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_clear().env("HOME", self.0.path());
        // Without SystemRoot, Windows programs have no network.
        let kept = ["PATH", "SystemRoot"].map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(kept.into_iter().flatten());
        if self.path(QUIET).exists() {
            command.env("SETGUARD_POLICY", self.path(QUIET));
        }
        command
    }

    pub fn setguard(&self, args: &[&str]) -> Ran {
        self.feed(args, "")
    }

    pub fn feed(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_setguard"));
        support::feed(command.args(args), stdin.as_ref()).into()
    }

    pub fn check(&self, args: &str) -> Ran {
        self.setguard(&["check"].into_iter().chain(args.split(' ')).collect::<Vec<_>>())
    }

    pub fn json(&self, args: &str) -> (i32, Value) {
        let ran = self.check(&format!("--format json {args}"));
        (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}")))
    }

    pub fn git(&self, args: &str) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let mut command = self.command("git");
        let ran = Ran::from(command.args(who).args(args.split(' ')).output().unwrap());
        assert_eq!(ran.code, 0, "git {args}: {ran:?}");
    }

    pub fn commit(&self) {
        self.git("init -q -b main");
        self.git("add -A");
        self.git("commit -q -m first");
    }
}

pub fn rules(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// A DaemonSet with one warning, `on-delete-ignores-rolling-update` in line 7, and these extra lines in its pod spec.
pub fn on_delete(name: &str, pods: &str) -> String {
    let text = include_str!("../fixtures/manifests/on-delete.yaml");
    text.replace("NAME", name).replace("PODS\n", pods)
}
