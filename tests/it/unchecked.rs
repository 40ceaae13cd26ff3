//! Attempts to smuggle a set past a check: each is denied, or listed in every format as not checked and then fails
//! with `--against-ref`.

use crate::folder::{Folder, Ran};

const GOOD: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  \
     selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {containers: [{name: main, image: \"db:1\"}]}\n";

const TRAP: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: evil}\nspec:\n  serviceName: evil\n  \
     selector: {matchLabels: {app: evil}}\n  template:\n    metadata: {labels: {app: evil}}\n    \
     spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: \"evil:1\"}]}\n";

const POLICY: &str =
    "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules: {grace-period-zero: deny}\n";

const FORMATS: [&str; 7] = ["text", "concise", "json", "sarif", "github", "gitlab", "junit"];

/// The required result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Denied,
    /// With the reason in JSON.
    NotChecked(&'static str),
}

use Outcome::{Denied, NotChecked};

fn refused() -> String {
    TRAP.replace("{app: evil}}\n    spec", "{app: web}}\n    spec")
}

type Files = Vec<(String, Vec<u8>)>;

fn ways(set: &str) -> Vec<(&'static str, Files, Outcome)> {
    let (_, rest) = set.split_once('\n').unwrap();
    // In Latin-1: kubectl replaces the invalid byte.
    let damaged = set.replace("\"evil:1\"", "\"evil:1\", env: [{name: A, value: \"Müller\"}]");
    let indented: String = damaged.lines().map(|line| format!(" {line}\n")).collect();
    let label = if set == TRAP { "evil" } else { "web" };
    let words = [
        ("DAMAGED", &*damaged),
        ("INDENTED", &*indented),
        ("SET", set),
        ("REST", rest),
        ("LABEL", label),
    ];
    let bytes = |text: String| {
        let text = words.iter().fold(text, |text, (word, full)| text.replace(word, full));
        match text.contains('ü') {
            true => text.chars().map(|char| char as u8).collect(),
            false => text.into_bytes(),
        }
    };
    let ways = include_str!("../fixtures/unchecked/ways.jsonl").lines().map(|line| {
        let (way, reason, files): (&str, &str, Vec<(String, String)>) =
            serde_json::from_str(line).unwrap();
        let files = files.into_iter().map(|(name, text)| (name, bytes(text))).collect();
        (way, files, if reason.is_empty() { Denied } else { NotChecked(reason) })
    });
    let ways: Vec<_> = ways.collect();
    assert_eq!(ways.len(), 33);
    ways
}

fn change(files: &Files) -> Folder {
    let folder = Folder::new([("deploy/good.yaml", GOOD), ("setguard.yaml", POLICY)]);
    folder.commit();
    folder.git("checkout -q -b change");
    for (name, bytes) in files {
        folder.write(name, bytes);
    }
    folder.git("add -A -f");
    folder.git("commit -q -m second");
    folder
}

fn check(folder: &Folder, format: &str, args: &[&str]) -> Ran {
    folder.setguard(&[&["check", "deploy", "--format", format], args].concat())
}

#[test]
fn no_way_hides_a_set_from_a_check() {
    let refs: [&[&str]; 2] = [&[], &["--against-ref", "main", "--policy-from-ref", "main"]];
    let mut seen = 0;
    for set in [TRAP.to_owned(), refused()] {
        for (way, files, outcome) in ways(&set) {
            let folder = change(&files);
            let (path, bytes) = &files[0];
            for (input, stdin) in [(&**path, &[][..]), ("-", bytes), (".", &[])] {
                let ran = folder.feed(&["check", input], stdin);
                let is_said = ran.stdout.contains("not checked: ");
                assert!(ran.code != 0 || outcome != Denied && is_said, "{way} {input}: {ran:#?}");
            }
            let (file, _) = files[0].0.rsplit_once('.').unwrap();
            let name = file.rsplit_once('/').unwrap().1;
            for args in refs {
                // All formats only once, because each is a run.
                for format in if set == TRAP { &FORMATS[..] } else { &FORMATS[..1] } {
                    seen += 1;
                    let ran = check(&folder, format, args);
                    let what = format!("{way} {format} {args:?}: {ran:#?}");
                    let fails = outcome == Denied || !args.is_empty();
                    assert_eq!(ran.code, i32::from(fails), "{what}");
                    assert!(ran.stdout.contains(name), "{what}");
                    if let (NotChecked(reason), "json") = (outcome, *format) {
                        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
                        let entries = report["notChecked"].as_array().unwrap();
                        let entry =
                            entries.iter().find(|it| it["file"].as_str().unwrap().contains(name));
                        let entry = entry.unwrap_or_else(|| panic!("{what}"));
                        assert_eq!(entry["reason"], reason, "{what}");
                        assert_eq!(entry["changed"], !args.is_empty(), "{what}");
                    }
                }
            }
        }
    }
    assert!(seen > 400, "only {seen} runs");
}
