//! Findings that are known.

use std::fs;

use serde_json::Value;

use crate::folder::{Folder, on_delete, rules};

#[test]
fn what_is_in_the_baseline_is_not_reported_wherever_it_moves() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    folder.check("a.yaml --deny-warnings --write-baseline known").ends(0).reports_only("");
    let known = folder.read("known");
    let lines: Vec<_> = known.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 1, "{known}");
    let wanted = "on-delete-ignores-rolling-update apps/DaemonSet/ops/agent \
                  spec.updateStrategy.rollingUpdate  # rollingUpdate is ignored with type OnDelete";
    assert!(lines[0].starts_with(wanted), "{known}");

    folder.write("moved/b.yaml", format!("# More lines.\n\n\n{}", on_delete("agent", "")));
    fs::remove_file(folder.path("a.yaml")).unwrap();
    let (code, report) = folder.json("moved --deny-warnings --baseline known");
    assert_eq!((code, rules(&report)), (0, vec![]), "{report}");
    assert_eq!(report["summary"]["hiddenByBaseline"], 1);
    assert_eq!(report["summary"]["warned"], 0);
    folder.check("moved --baseline known").prints("1 known finding hidden by the baseline");

    folder.write("moved/c.yaml", on_delete("other", ""));
    let (code, report) = folder.json("moved --deny-warnings --baseline known");
    assert_eq!((code, rules(&report).len()), (1, 1), "{report}");
}

#[test]
fn what_is_fixed_must_leave_the_baseline() {
    let fixed = on_delete("agent", "").replace("    rollingUpdate:\n      maxUnavailable: 2\n", "");
    let folder =
        Folder::new([("a.yaml", on_delete("agent", "").as_str()), ("b.yaml", &on_delete("b", ""))]);
    folder.check(". --write-baseline known");
    // After a merge an entry may be there twice.
    let entry = folder.read("known").lines().nth(2).unwrap().to_owned();
    let known = folder.read("known") + "# by hand\n";
    folder.write("known", &known);

    folder.write("a.yaml", &fixed);
    let ran = folder.check(". --baseline known").ends(1);
    let said = "error: known:3: no longer found: on-delete-ignores-rolling-update apps/DaemonSet/ops/agent";
    assert!(ran.stderr.contains(said), "{ran:?}");
    assert!(ran.stderr.contains("--prune-baseline"), "{ran:?}");
    // Part of the input says nothing about the rest.
    folder
        .check("b.yaml --baseline known")
        .ends(0)
        .reports("1 of its findings are in objects that were not checked");

    folder.write("known", format!("{known}{entry}\n"));
    assert_eq!(folder.check(". --baseline known --prune-baseline").code, 0);
    let pruned: Vec<_> = known
        .split_inclusive('\n')
        .enumerate()
        .filter(|(i, _)| *i != 2)
        .map(|(_, it)| it)
        .collect();
    assert_eq!(folder.read("known"), pruned.concat());
    folder.check(". --baseline known").ends(0).reports_only("");
}

#[test]
fn nothing_hides_what_the_api_server_refuses() {
    let text = on_delete(
        "agent",
        "      restartPolicy: Never\n      dnsPolicy: Wrong\n      unknown: 1\n",
    );
    let folder = Folder::new([("a.yaml", text.as_str())]);
    let (code, report) = folder.json("a.yaml --write-baseline known");
    assert_eq!(
        (code, rules(&report)),
        (1, vec!["schema", "pod-template-validation", "api-validation"])
    );
    assert_eq!(folder.json("a.yaml --baseline known"), (code, report.clone()));
    assert_eq!(folder.json("a.yaml --new-only --against a.yaml").0, 1);
    for rule in rules(&report) {
        folder.write("known", format!("{rule} apps/DaemonSet/ops/agent spec\n"));
        folder
            .check("a.yaml --baseline known")
            .ends(2)
            .reports(format!("known:1: a baseline cannot hide {rule}"));
    }
}

#[test]
fn a_baseline_that_cannot_be_read_is_an_error() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    for text in ["<<<<<<< HEAD\n", "=======\n", "on-delete-ignores-rolling-update\n", "a b c d\n"] {
        folder.write("known", text);
        let ran = folder.check("a.yaml --baseline known");
        assert_eq!(ran.code, 2, "{text}");
        assert!(ran.stderr.contains("known:1: this isn't a finding"), "{ran:?}");
    }
    assert_eq!(folder.check("a.yaml --baseline none").code, 2);
    assert_eq!(folder.check("a.yaml --write-baseline none/known").code, 2);
    assert_eq!(folder.check("a.yaml --baseline known --write-baseline known").code, 2);
    assert_eq!(folder.check("a.yaml --prune-baseline").code, 2);
}

#[test]
fn an_incomplete_run_writes_no_baseline() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    folder.check("a.yaml --write-baseline known");
    let known = folder.read("known");
    folder.write("a.yaml", "a: [");
    for flags in ["--write-baseline known", "--baseline known --prune-baseline"] {
        let ran = folder.check(&format!("a.yaml {flags}"));
        assert_eq!((ran.code, folder.read("known") == known), (2, true), "{ran:?}");
        assert!(ran.stderr.contains("the baseline is not written"), "{ran:?}");
    }
}

#[test]
fn a_note_is_not_written_down() {
    let text = on_delete("agent", "").replacen(
        "spec:",
        "spec: # setguard: ignore[on-delete-ignores-rolling-update]",
        1,
    );
    let folder = Folder::new([("a.yaml", text.as_str())]);
    folder.check("a.yaml --write-baseline known");
    assert!(folder.read("known").lines().all(|line| line.starts_with('#')));
}

#[test]
fn only_what_a_change_brings_is_reported() {
    let old = on_delete("agent", "");
    let folder = Folder::new([("old/a.yaml", old.as_str())]);
    folder.write("new/b.yaml", format!("# Moved.\n{old}---\n{}", on_delete("other", "")));
    let (code, report) = folder.json("new --against old --new-only --deny-warnings");
    assert_eq!((code, rules(&report).len()), (1, 1), "{report}");
    assert_eq!(report["findings"][0]["object"]["name"], "other");
    assert_eq!(report["summary"]["notNew"], 1);
    folder
        .check("old --against old --new-only --deny-warnings")
        .ends(0)
        .prints("1 finding not new");
    assert_eq!(folder.check("new --new-only").code, 2);
}

#[test]
fn old_files_come_from_git() {
    let folder = Folder::new([
        ("deploy/a.yaml", on_delete("agent", "").as_str()),
        ("deploy/é b.yaml", &on_delete("b", "")),
    ]);
    folder.write("deploy/.hidden.yaml", "{{");
    folder.write("deploy/chart/Chart.yaml", "name: chart\n");
    folder.write("deploy/chart/templates/a.yaml", "{{ if }}");
    folder.commit();
    // The change moves one manifest, and changes a field that is immutable.
    fs::rename(folder.path("deploy/a.yaml"), folder.path("deploy/z.yaml")).unwrap();
    folder.write(
        "deploy/é b.yaml",
        on_delete("b", "").replace("matchLabels: {app: b}", "matchLabels: {}"),
    );
    folder.write("deploy/.hidden.yaml", "{{");
    let (code, report) = folder.json("deploy --against-ref main --new-only");
    assert_eq!(code, 1);
    assert!(rules(&report).contains(&"immutable-field"), "{report}");
    assert!(!rules(&report).contains(&"on-delete-ignores-rolling-update"), "{report}");
    assert_eq!(report["summary"]["notNew"], 2, "{report}");
    // The hook runs in a folder below, and at the top.
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let args = ["check", ".", "--against-ref", "HEAD", "--new-only"];
    let ran = command
        .args(args)
        .current_dir(folder.path("deploy"))
        .env("GIT_PREFIX", "deploy/")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8(ran.stdout).unwrap().contains("2 findings not new"));
    // A new file has no old version.
    folder.write("new.yaml", on_delete("new", ""));
    folder.check("new.yaml --against-ref HEAD --new-only --deny-warnings").ends(1);
}

#[test]
fn what_git_cannot_say_is_an_error() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let says = |args: &str, what: &str| {
        folder.check(args).ends(2).reports(what);
    };
    says("a.yaml --against-ref HEAD", "needs a git repository");
    folder.commit();
    says("a.yaml --against-ref none", "git knows no commit \"none\"");
    says("a.yaml --against-ref main:a.yaml", "git knows no commit");
    says("a.yaml --against-ref=--output=x", "isn't the name of a commit");
    says("- --against-ref HEAD", "standard input has no older version");
    says("a.yaml --against-ref HEAD --against a.yaml", "cannot be used with");
    let outside = Folder::new([("b.yaml", on_delete("agent", "").as_str())]);
    let path = outside.path("b.yaml");
    says(&format!("{} --against-ref HEAD", path.display()), "is outside of the repository");
    assert!(!folder.path("x").exists());

    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let output = command
        .args(["check", "a.yaml", "--against-ref", "HEAD"])
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("git cannot be run"));
}

#[test]
fn a_submodule_has_no_old_files() {
    let inner = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    inner.commit();
    let folder = Folder::new([("b.yaml", on_delete("b", "").as_str())]);
    folder.commit();
    let url = inner.0.path().display();
    folder.git(&format!("-c protocol.file.allow=always submodule --quiet add {url} deploy"));
    folder.git("commit -q -m second");
    folder
        .check(". --against-ref HEAD --new-only")
        .ends(0)
        .reports("note: deploy is a submodule")
        .prints("1 finding not new");
}

/// The API server drops the field of a feature that is off when it creates the object, so the stored
/// object does not have it, and what a manifest says there is not validated later either.
#[test]
fn an_old_manifest_does_not_keep_what_the_api_server_dropped() {
    // Not a name of a host.
    let text = on_delete("agent", "      hostnameOverride: A_B\n");
    let folder = Folder::new([("a.yaml", text.as_str())]);
    folder.commit();
    let gate = |on: bool| format!("--kube-version 1.36 --feature-gates HostnameOverride={on}");
    let refused = |args: String| {
        let (_, report) = folder.json(&args);
        rules(&report).contains(&"pod-template-validation")
    };
    assert!(!refused(format!("a.yaml {}", gate(false))));
    assert!(!refused(format!("a.yaml --against-ref main {}", gate(false))));
    assert!(refused(format!("a.yaml --against-ref main {}", gate(true))));
    // A stored object keeps it.
    folder.write("stored.yaml", text.replace("namespace: ops}", "namespace: ops, uid: u}"));
    assert!(refused(format!("a.yaml --against stored.yaml {}", gate(false))));
}

#[test]
fn a_selection_is_counted_and_leaves_the_baseline_alone() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let rule = "on-delete-ignores-rolling-update";
    folder.check("a.yaml --write-baseline known");
    for flags in
        [format!("--ignore {rule}"), "--select schema".into(), "--min-severity error".into()]
    {
        let (code, report) = folder.json(&format!("a.yaml {flags}"));
        assert_eq!((code, rules(&report).len()), (0, 0), "{flags}: {report}");
        assert_eq!(report["summary"]["notSelected"], 1, "{flags}: {report}");
        assert_eq!(folder.check(&format!("a.yaml --baseline known {flags}")).code, 0, "{flags}");
    }
    folder
        .check(&format!("a.yaml --ignore {rule} --deny-warnings"))
        .ends(0)
        .prints("1 finding not selected");
    folder
        .check("a.yaml --ignore on-delete-ignores-rolling-updat")
        .ends(2)
        .reports(format!("did you mean {rule}?"));
}

#[test]
fn each_format_can_have_its_least_severity() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let check = |flags: &str| {
        let outputs = "--output concise=all --output json=report.json --output text=report.txt";
        let ran = folder.check(&format!("a.yaml {outputs} {flags}"));
        (ran, folder.read("all"), folder.read("report.json"), folder.read("report.txt"))
    };
    let rule = "warning[on-delete-ignores-rolling-update]";
    let summary = "1 object checked in 1 file: 0 denied, 1 warned\n";
    let none = "1 object checked in 1 file: 0 denied, 1 warned, 1 finding not selected\n";
    let (ran, all, json, text) = check("--min-severity error --min-severity concise=note");
    assert!(all.contains(rule) && all.ends_with(summary), "{all}");
    assert_eq!((ran.code, &*ran.stdout, &*text), (0, none, none));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["findings"], serde_json::json!([]), "{json}");
    assert_eq!(json["summary"]["notSelected"], 1, "{json}");
    let (ran, all, json, text) = check("--min-severity concise=error --min-severity json=warning");
    assert!(ran.stdout.contains(rule) && ran.stdout.ends_with(summary), "{ran:?}");
    assert_eq!(text, ran.stdout);
    assert!(!all.contains(rule) && all.ends_with(none), "{all}");
    assert!(json.contains("on-delete-ignores-rolling-update"), "{json}");
    for wrong in ["loud", "sarif=loud", "xml=note"] {
        folder.check(&format!("a.yaml --min-severity {wrong}")).ends(2).reports("is not one of ");
    }
}

#[test]
fn concise_has_a_line_for_each_finding() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let ran = folder.check("a.yaml --format concise --min-severity warning");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with(
            "a.yaml:7:5: warning[on-delete-ignores-rolling-update]: DaemonSet ops/agent: "
        ),
        "{ran:?}"
    );
    assert_eq!(lines[1], "errors: 0, warnings: 1, notes: 0");
    let colored =
        |when: &str| folder.check(&format!("a.yaml --color {when}")).stdout.contains('\u{1b}');
    assert_eq!(["always", "never", "auto"].map(colored), [true, false, false]);
}
