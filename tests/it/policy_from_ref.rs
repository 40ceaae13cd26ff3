//! The policy of a change, compared with the one before it, and `--policy-from-ref`.

use std::os::unix::fs::symlink;

use crate::folder::{Folder, Ran, on_delete, rules};

const HEAD: &str = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nmetadata: {name: ours}\n";
const RULE: &str = "on-delete-ignores-rolling-update";

fn policy(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

/// A repository whose policy denies what its manifest has.
fn repository() -> Folder {
    let strict = policy(&format!("rules: {{{RULE}: deny}}\n"));
    let manifest = on_delete("agent", "");
    let folder = Folder::new([("deploy/a.yaml", &*manifest), ("setguard.yaml", &*strict)]);
    folder.commit();
    folder
}

#[test]
fn a_change_that_turns_rules_off_is_a_finding() {
    let folder = repository();
    assert_eq!(folder.check("deploy").code, 1);
    folder.write(
        "setguard.yaml",
        policy(&format!("rules:\n  {RULE}: off\n  shared-volume: audit\n")),
    );
    let (code, report) = folder.json("deploy --against-ref main --new-only");
    assert_eq!((code, rules(&report)), (0, vec!["policy-weakened"]), "{report}");
    let finding = &report["findings"][0];
    assert_eq!((&finding["file"], &finding["line"]), (&"setguard.yaml".into(), &4.into()));
    assert_eq!(
        (&finding["object"]["kind"], &finding["object"]["name"]),
        (&"Policy".into(), &"ours".into())
    );
    let message = finding["message"].as_str().unwrap();
    let expected = format!(
        "2 rules are weaker than in main:setguard.yaml: {RULE} (deny → off), shared-volume (warn → audit)"
    );
    assert!(message.starts_with(&expected), "{message}");
    // Nothing hides it, and it fails where warnings do.
    assert_eq!(folder.check("deploy --against-ref main --deny-warnings").code, 1);
    folder.check("deploy --against-ref main --write-baseline known");
    let (_, report) = folder.json("deploy --against-ref main --baseline known");
    assert_eq!(rules(&report), ["policy-weakened"]);
    // Without a commit to compare with, every format says what the policy weakens all the same.
    let words = "policy setguard.yaml: rules weakened: 2, exceptions: 0";
    for format in ["text", "github", "sarif", "junit"] {
        let ran = folder.check(&format!("deploy --format {format}"));
        assert!(ran.stdout.contains(words), "{format}: {}", ran.stdout);
    }
}

#[test]
fn the_policy_of_a_commit_is_used() {
    let folder = repository();
    for change in [Some(policy(&format!("rules: {{{RULE}: off}}\n"))), None] {
        match change {
            Some(weak) => folder.write("setguard.yaml", weak),
            None => std::fs::remove_file(folder.path("setguard.yaml")).unwrap(),
        }
        let (code, report) = folder.json("deploy --policy-from-ref main");
        assert_eq!((code, rules(&report)), (1, vec![RULE, "policy-weakened"]), "{report}");
        folder
            .check("deploy --policy-from-ref main")
            .reports("policy: main:setguard.yaml\n")
            .reports_no("policy: setguard.yaml");
    }
    // Other places count too: a nearer policy, and one that a flag names.
    folder.git("checkout -q -- setguard.yaml");
    folder.write("deploy/.setguard.yaml", policy(&format!("rules: {{{RULE}: off}}\n")));
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let args = ["check", "a.yaml", "--format", "json", "--policy-from-ref", "main"];
    let ran =
        Ran::from(command.args(args).current_dir(folder.path("deploy")).output().unwrap()).ends(1);
    assert!(ran.stdout.contains("policy-weakened") && ran.stdout.contains(RULE), "{ran:?}");
    let (code, report) =
        folder.json("deploy --policy deploy/../setguard.yaml --policy-from-ref main");
    assert_eq!((code, rules(&report)), (1, vec![RULE]));
}

#[test]
fn a_commit_without_a_policy_has_the_defaults() {
    let folder = Folder::new([("deploy/a.yaml", on_delete("agent", "").as_str())]);
    folder.commit();
    folder.write("setguard.yaml", policy(&format!("rules: {{{RULE}: off}}\n")));
    folder
        .check("deploy --policy-from-ref main")
        .reports("policy: none at main, so the defaults\n");
    let (_, report) = folder.json("deploy --policy-from-ref main");
    assert_eq!(rules(&report), [RULE, "policy-weakened"]);
    // A policy that is only stricter isn't weaker.
    folder.write("setguard.yaml", policy(&format!("rules: {{{RULE}: deny}}\n")));
    let (_, report) = folder.json("deploy --against-ref main");
    assert_eq!(rules(&report), [RULE]);
}

#[test]
fn files_that_a_change_excludes_are_a_finding() {
    let folder = repository();
    folder
        .write("setguard.yaml", policy(&format!("rules: {{{RULE}: deny}}\nexclude:\n- a.yaml\n")));
    let (code, report) = folder.json("deploy --against-ref main --allow-empty");
    assert_eq!((code, rules(&report)), (0, vec!["policy-weakened"]), "{report}");
    assert_eq!(report["findings"][0]["field"], "exclude[0]");
    assert_eq!(report["findings"][0]["line"], 6);
    // The policy of the base checks the file all the same.
    let (code, report) = folder.json("deploy --policy-from-ref main");
    assert_eq!((code, rules(&report)), (1, vec![RULE, "policy-weakened"]), "{report}");
}

#[test]
fn an_exception_that_is_new_is_a_finding() {
    let folder = repository();
    let exception = format!("exceptions:\n- {{rules: [{RULE}], names: [agent], reason: agreed}}\n");
    folder.write("setguard.yaml", policy(&format!("rules: {{{RULE}: deny}}\n{exception}")));
    let (code, report) = folder.json("deploy --against-ref main --new-only");
    assert_eq!((code, rules(&report)), (0, vec!["policy-weakened"]), "{report}");
    assert_eq!(report["findings"][0]["field"], "exceptions[0]");
    assert_eq!(report["findings"][0]["line"], 6);
}

#[test]
fn a_policy_that_is_invalid_on_one_side_is_said() {
    let folder = repository();
    folder.write("setguard.yaml", policy("rules: {policy-weakened: off}\n"));
    for flag in ["--against-ref", "--policy-from-ref"] {
        folder
            .check(&format!("deploy {flag} main"))
            .ends(2)
            .reports("policy-weakened cannot be changed");
    }
    folder.git("add -A");
    folder.git("commit -q -m broken");
    folder.write("setguard.yaml", policy(""));
    let ran = folder.check("deploy --against-ref main").ends(0);
    let note = "note: main:setguard.yaml is invalid, so it isn't known whether this change weakens";
    assert!(ran.stderr.contains(note), "{ran:?}");
    folder.check("deploy --policy-from-ref main").ends(2).reports("main:setguard.yaml:4:");
}

#[test]
fn a_policy_that_cannot_be_had_from_the_commit_is_an_error() {
    let folder = repository();
    let elsewhere = Folder::new([("p.yaml", policy("").as_str())]);
    let outside = elsewhere.path("p.yaml");
    let args = format!("deploy --policy {}", outside.display());
    folder
        .check(&format!("{args} --policy-from-ref main"))
        .ends(2)
        .reports("outside of the repository");
    // The change doesn't contain it, so there is nothing to compare.
    folder.check(&format!("{args} --against-ref main")).ends(0).prints_no("policy-weakened");
    assert_eq!(folder.check("deploy --policy-from-ref nowhere").code, 2);
    // A link at the commit isn't followed.
    std::fs::remove_file(folder.path("setguard.yaml")).unwrap();
    symlink(outside, folder.path("setguard.yaml")).unwrap();
    folder.git("add -A");
    folder.git("commit -q -m link");
    std::fs::remove_file(folder.path("setguard.yaml")).unwrap();
    folder
        .check("deploy --policy-from-ref main")
        .ends(2)
        .reports("main:setguard.yaml isn't a regular file");
}
