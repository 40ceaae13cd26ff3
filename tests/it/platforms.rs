//! The differences between Linux, macOS and Windows: path separators, line breaks and signals.

mod signals;

use std::path::MAIN_SEPARATOR_STR;

use crate::prelude::*;

/// A path in the system's notation: with `\` on Windows.
fn native(path: &str) -> String {
    path.replace('/', MAIN_SEPARATOR_STR)
}

#[test]
fn reports_for_programs_have_forward_slashes() {
    let folder = Folder::new([("deploy/base/a.yaml", on_delete("agent", "").as_str())]);
    folder.write(".git/HEAD", "");
    let whole = folder.path("deploy").join("base");
    for given in [&native("deploy/base/a.yaml"), "deploy/base/a.yaml", whole.to_str().unwrap()] {
        folder
            .check(&format!("--format github {given}"))
            .prints("::warning file=deploy/base/a.yaml,line=7,");
        let ran = folder.check(&format!("--format sarif {given}"));
        let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
        let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "deploy/base/a.yaml", "{given}");
        let ran = folder.check(&format!("--format gitlab {given}"));
        let issues: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(issues[0]["location"]["path"], "deploy/base/a.yaml", "{given}");
        let ran = folder.check(&format!("{given} --fix --dry-run"));
        assert!(ran.stdout.starts_with("--- a/deploy/base/a.yaml\n"), "{ran:?}");
    }
}

#[test]
fn a_file_outside_of_the_repository_has_an_address() {
    let folder = Folder::new([("inside/.git/HEAD", "")]);
    folder.write("outside/a b.yaml", on_delete("agent", ""));
    let outside = folder.path("outside").canonicalize().unwrap();
    let outside = outside.to_str().unwrap().trim_start_matches(r"\\?\").to_owned();
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    command.current_dir(folder.path("inside")).args(["check", "--format", "sarif"]);
    let output = command.arg(native("../outside/a b.yaml")).output().unwrap();
    let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    // A drive has a colon.
    let folders = outside.replace('\\', "/").replace(':', "%3A");
    let wanted = format!("file:///{}/a%20b.yaml", folders.trim_start_matches('/'));
    assert_eq!(place["artifactLocation"]["uri"], wanted);
}

#[test]
fn a_baseline_holds_on_every_system() {
    // A generated name belongs to its file; the baseline has the file's path.
    let text =
        on_delete("agent", "").replace("name: agent, namespace", "generateName: agent-, namespace");
    let folder = Folder::new([("deploy/a.yaml", text.as_str())]);
    folder.check(&format!("{} --write-baseline known", native("deploy/a.yaml"))).ends(0);
    assert!(folder.read("known").contains("agent-*@deploy/a.yaml "), "{}", folder.read("known"));
    let (code, report) = folder.json("deploy --deny-warnings --baseline known");
    assert_eq!((code, rules(&report)), (0, vec![]), "{report}");
}

#[test]
fn line_breaks_of_windows_change_no_finding() {
    let text = on_delete("agent", "");
    let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n  on-delete-ignores-rolling-update: deny\n";
    let of = |change: &dyn Fn(&str) -> String| {
        let folder = Folder::new([("a.yaml", change(&text).as_str()), ("p.yaml", &change(policy))]);
        let (code, mut report) = folder.json("a.yaml --policy p.yaml");
        assert_eq!(code, 1, "{report}");
        report.as_object_mut().unwrap().remove("policy");
        let pasted = folder.feed(&["check", "-", "--policy", "p.yaml"], change(&text));
        assert_eq!(pasted.code, 1, "{pasted:?}");
        (report, folder.check("a.yaml --policy p.yaml").stdout, pasted.stdout)
    };
    let plain = of(&str::to_owned);
    assert!(!plain.1.contains('\r'));
    assert_eq!(of(&|text| text.replace('\n', "\r\n")), plain);
    // Windows editors put a byte order mark first.
    assert_eq!(of(&|text| format!("\u{feff}{}", text.replace('\n', "\r\n"))), plain);
}
