//! The defaults of `check`: the policy of a repository, and whether there is anything to check.

use std::{fs, path::Path};

use crate::cli::{Folder, GOOD, Ran, policy, setguard};

/// A manifest that this policy denies, and that the default policy warns about.
const COVERED: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cache}
spec:
  serviceName: cache
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec: {containers: [{name: cache, image: a}]}
  updateStrategy: {rollingUpdate: {partition: 4}}
";

fn denying() -> String {
    policy(&[("partition-covers-all", "deny")], "")
}

fn quiet() -> String {
    policy(&[], "")
}

/// Runs `check` without a policy in the environment.
fn check_in(folder: &Path, args: &[&str]) -> Ran {
    let mut command = setguard(folder, &[&["check"], args].concat());
    command.env_remove("SETGUARD_POLICY").output().unwrap().into()
}

#[test]
fn the_policy_of_the_repository_counts() {
    for name in ["setguard.yaml", ".setguard.yaml", ".github/setguard.yaml"] {
        let folder = Folder::new([("a.yaml", COVERED), ("sub/b.yaml", COVERED), (".git/HEAD", "")]);
        folder.write(name, denying().as_bytes());
        let (root, sub) = (folder.0.path(), folder.0.path().join("sub"));
        let ran = check_in(root, &["a.yaml"]);
        assert_eq!((ran.code, ran.stderr), (1, format!("policy: {name}\n")));
        // From a folder below too, with the whole path.
        let ran = check_in(&sub, &["b.yaml"]).ends(1);
        let whole = fs::canonicalize(root).unwrap().join(name);
        assert_eq!(ran.stderr, format!("policy: {}\n", whole.display()));
        // The user's flag takes precedence.
        check_in(root, &["a.yaml", "--no-config"]).ends(0).reports_only("");
        check_in(root, &["a.yaml", "--policy", ".quiet.yaml"]).ends(0).reports_only("");
        folder.run(&["check", "a.yaml"]).ends(0).reports_only("");
    }
}

#[test]
fn the_nearest_policy_counts() {
    let folder = Folder::new([("sub/a.yaml", COVERED), (".git/HEAD", "")]);
    folder.write("setguard.yaml", denying().as_bytes());
    folder.write("sub/.setguard.yaml", quiet().as_bytes());
    assert_eq!(check_in(&folder.0.path().join("sub"), &["a.yaml"]).code, 0);
    assert_eq!(check_in(folder.0.path(), &["sub/a.yaml"]).code, 1);
    folder.write("sub/setguard.yaml", denying().as_bytes());
    assert_eq!(check_in(&folder.0.path().join("sub"), &["a.yaml"]).code, 1);
}

#[test]
fn no_policy_is_taken_from_outside_the_repository() {
    let folder = Folder::new([("repo/sub/a.yaml", COVERED)]);
    folder.write("setguard.yaml", denying().as_bytes());
    let sub = folder.0.path().join("repo/sub");
    // Without a repository, only the working folder counts.
    assert_eq!(check_in(&sub, &["a.yaml"]).code, 0);
    assert_eq!(check_in(folder.0.path(), &["repo/sub/a.yaml"]).code, 1);
    folder.write("repo/.git", b"gitdir: elsewhere\n");
    assert_eq!(check_in(&sub, &["a.yaml"]).code, 0);
}

#[cfg(unix)]
#[test]
fn no_policy_is_taken_from_a_shared_folder() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new([("a.yaml", COVERED)]);
    folder.write("setguard.yaml", denying().as_bytes());
    let set =
        |mode| fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o1777);
    let ran = check_in(folder.0.path(), &["a.yaml"]);
    set(0o700);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(check_in(folder.0.path(), &["a.yaml"]).code, 1);
}

#[test]
fn a_policy_that_is_found_must_be_valid() {
    let folder = Folder::new([("a.yaml", GOOD), ("setguard.yaml", "kind: Policy\n")]);
    check_in(folder.0.path(), &["a.yaml"]).ends(2).reports("setguard.yaml:1");
}

#[test]
fn a_policy_among_the_manifests_is_not_a_manifest() {
    let folder = Folder::new([("a.yaml", GOOD)]);
    folder.write("setguard.yaml", quiet().as_bytes());
    let ran = check_in(folder.0.path(), &["."]).ends(0);
    // And the policy of these tests.
    assert!(
        ran.stdout.contains(": 0 denied, 0 warned, 2 of other kinds skipped\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn nothing_to_check_is_a_failure() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let folder =
        Folder::new([("others/a.yaml", other), ("empty/readme.md", ""), ("b.yaml", "# no\n")]);
    for path in ["others", "empty", "b.yaml"] {
        let ran = folder.run(&["check", path]);
        assert_eq!(ran.code, 2, "{path}: {}", ran.stdout);
        assert!(ran.stderr.starts_with("error: nothing was checked: "), "{path}: {}", ran.stderr);
        assert!(ran.stdout.starts_with("0 objects checked"), "{path}: {}", ran.stdout);
        folder.run(&["check", path, "--allow-empty"]).ends(0).reports_only("");
    }
    // A document that cannot be read might have been a set, and is a separate error.
    folder.write("c.yaml", b"a: [\n");
    for args in [&["check", "c.yaml"][..], &["check", "nowhere.yaml"]] {
        folder.run(args).ends(2).reports_no("nothing was checked");
    }
}

#[test]
fn reports_say_what_a_policy_weakens() {
    let folder = Folder::new([("a.yaml", COVERED), (".git/HEAD", "")]);
    let off = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules: {partition-covers-all: off}\n\
               exceptions: [{rules: [partition-covers-all], reason: a test}]\n";
    folder.write("setguard.yaml", off.as_bytes());
    let ran = check_in(folder.0.path(), &["a.yaml", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = serde_json::json!({
        "file": "setguard.yaml", "weakened": ["partition-covers-all"], "exceptions": 1
    });
    assert_eq!(report["policy"], expected);
    let summary = folder.0.path().join("summary.md");
    let mut command = setguard(folder.0.path(), &["check", "a.yaml", "--format", "github"]);
    command.env_remove("SETGUARD_POLICY").env("GITHUB_STEP_SUMMARY", &summary);
    let ran = Ran::from(command.output().unwrap());
    let words = "policy setguard.yaml: rules weakened: 1, exceptions: 1";
    assert!(ran.stdout.contains(&format!("::notice title=setguard::{words}\n")), "{}", ran.stdout);
    assert!(fs::read_to_string(summary).unwrap().contains("exceptions\\: 1"));
    // Without a policy file, there is nothing to say.
    let ran = check_in(folder.0.path(), &["a.yaml", "--no-config", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(report.get("policy").is_none());
}
