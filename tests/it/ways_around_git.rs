//! Changes that hide a set from git, from the walk of a folder, or from the comparison with a commit. Each must fail every
//! command that looks at the set. All are shell scripts in the same repository.
#![cfg(unix)]

use crate::prelude::*;

const SET: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  \
     selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {terminationGracePeriodSeconds: 30, containers: [{name: main, image: \"db:1\"}]}\n";

/// Helpers of the scripts: each `sed` edits files in place in its own way.
const HELPERS: &str =
    "set -e; immutable='s/serviceName: .*/serviceName: other/'; denied='s/Seconds: 30/Seconds: 0/'
edit() { sed \"$2\" \"$1\" > .edited; cat .edited > \"$1\"; rm .edited; }
base() { git add -A -f; git commit -q -m base; git branch -f main; }
submodule() {
    git init -q -b main; git add -f .; git commit -q -m sub; cd ..
    git -c protocol.file.allow=always submodule --quiet add ./sub deploy/sub; rm -rf sub
}
";

const WAYS: &str = include_str!("../fixtures/ways_around_git.txt");

fn sh(folder: &Folder, script: &str) {
    let mut command = folder.command("sh");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "a")
            .env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    let ran = Ran::from(command.args(["-c", &format!("{HELPERS}{script}")]).output().unwrap());
    assert_eq!(ran.code, 0, "{script}: {ran:?}");
}

fn repository() -> Folder {
    let named = |name: &str| SET.replace("name: db}", &format!("name: {name}}}"));
    let trap = SET.replace("Seconds: 30", "Seconds: 0");
    let strict = policy("rules: {grace-period-zero: deny}\n");
    let ours = format!(
        "{strict}exceptions: [{{rules: [grace-period-zero], files: [/tests], reason: r}}]\n"
    );
    let folder = Folder::new([
        ("deploy/db.yaml", SET),
        ("tests/db.yaml", &trap),
        ("deploy/in.txt", &named("in")),
        ("shared/far.yaml", &named("far")),
        ("shared/folder/a.yaml", &named("a")),
        ("evil", &named("evil").replace("labels: {app: db}", "labels: {app: other}")),
        ("setguard.yaml", &ours),
        ("ci/policy.yaml", &strict),
    ]);
    sh(
        &folder,
        "ln -s in.txt deploy/in.yaml; ln -s ../shared/far.yaml ../shared/folder deploy/; git init -q -b main; \
         git add -A; git commit -q -m first; git checkout -q -b change",
    );
    folder
}

#[test]
fn no_change_hides_a_set_from_a_comparison_with_a_commit() {
    let mut seen = 0;
    let (head, ways) = WAYS.split_once("\n=== ").unwrap();
    let commands: BTreeMap<_, _> = head.lines().filter_map(|it| it.split_once(": ")).collect();
    for way in ways.split("\n=== ") {
        let (title, script) = way.split_once('\n').unwrap();
        let folder = repository();
        sh(&folder, &format!("{script}\ngit add -A -f; git commit -q -m second"));
        let (way, codes) = title.split_once(": ").unwrap();
        for (name, code) in codes.split(", ").map(|it| it.split_once(' ').unwrap()) {
            seen += 1;
            let ran = folder.setguard(&commands[name].split(' ').collect::<Vec<_>>());
            assert_eq!(ran.code.to_string(), code, "{way}: setguard {name}: {ran:#?}");
        }
    }
    assert!(seen > 110, "only {seen} runs");
}

/// A shell notes the way to its folder.
#[test]
fn a_working_folder_that_is_a_link_now_is_compared_with_the_folder_before() {
    let folder = repository();
    sh(
        &folder,
        "edit deploy/db.yaml \"$immutable\"; git mv deploy deploy2; ln -s deploy2 deploy; git add -A",
    );
    let script =
        format!("cd deploy; {} check . --against-ref main", env!("CARGO_BIN_EXE_setguard"));
    let ran = folder.command("sh").args(["-c", &script]).output().unwrap();
    Ran::from(ran).ends(1).prints("field is immutable");
}

/// git takes a tag before the start of an id.
#[test]
fn a_tag_does_not_replace_a_commit() {
    let folder = repository();
    let start =
        Ran::from(folder.command("git").args(["rev-parse", "--short", "main"]).output().unwrap());
    let start = start.stdout.trim().to_owned();
    sh(&folder, "cat evil > deploy/evil.yaml; git add -A; git commit -q -m second");
    let against = |name: &str| folder.check(&format!("deploy --against-ref {name}"));
    against(&start).ends(1);
    folder.git(&format!("update-ref refs/tags/{start} HEAD"));
    against(&start).ends(2).reports("names different commits: the tag refs/tags/");
    against("refs/heads/main").ends(1);
    // The same commit has many names.
    folder.git("update-ref refs/tags/main main");
    against("main").ends(1);
}

#[test]
fn without_git_it_is_unknown_what_is_tracked() {
    let folder = repository();
    sh(&folder, "echo evil.yaml > .gitignore; cat evil > deploy/evil.yaml");
    let check = |path: &str| {
        let mut command: Command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        let ran = command.args(["check", "deploy"]).env("PATH", path).output().unwrap();
        Ran::from(ran).ends(0)
    };
    check(&std::env::var("PATH").unwrap()).prints("git ignores it");
    check("/nowhere").prints("it is unknown whether git tracks it");
}
