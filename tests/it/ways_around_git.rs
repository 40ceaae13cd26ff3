//! Changes that hide a set from git, from the walk of a folder, or from the comparison with a commit. Each must fail every
//! command that looks at the set. All are shell scripts in the same repository.
#![cfg(unix)]

use std::process::Command;

use crate::folder::{Folder, Ran, policy};

const SET: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  \
     selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {terminationGracePeriodSeconds: 30, containers: [{name: main, image: \"db:1\"}]}\n";

const PARTIAL: &str = "printf 'apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {replicas: 4}\n' > patch.yaml";

/// Edits files in place, which each `sed` does in its own way.
const HELPERS: &str =
    "set -e; edit() { sed \"$2\" \"$1\" > .edited; cat .edited > \"$1\"; rm .edited; }\n";

const IMMUTABLE: &str = "s/serviceName: .*/serviceName: other/";

const CHECK: &str = "check . --against-ref main --policy-from-ref main";
const FOLDER: &str = "check deploy --against-ref main --policy-from-ref main";
const FILE: &str = "check deploy/db.yaml --against-ref main";
const PLAN: &str = "plan deploy --against-ref main";
const STRICT: &str = "check . --against-ref main --deny-warnings";
const CLUSTERS: &str = "clusters: [{name: a, paths: [/deploy]}, {name: b, paths: [/other]}]";
const PLAN_RENDER: &str = "plan --render deploy --against-ref main";
const RENDER: &str = "check --render deploy --against-ref main";
const NEW_ONLY: &str = "check . --against-ref main --policy-from-ref main --new-only";
const POLICY: &str =
    "check . --policy ci/policy.yaml --policy-from-ref main --new-only --against-ref main";

/// A name, the change, and the exit code of each command after it.
type Way = (&'static str, String, Vec<(&'static str, i32)>);

fn ways() -> Vec<Way> {
    let moved = |way: &str| format!("edit deploy/db.yaml '{IMMUTABLE}'; {way}");
    let added = |way: &str| way.replace("EVIL", "cat evil >");
    let all = vec![(CHECK, 1), (FOLDER, 1), (PLAN, 1)];
    let unread = vec![(CHECK, 1), (FOLDER, 1), (PLAN, 2)];
    let ignored = |pattern: &str| {
        added(&format!("printf '{pattern}\\n' > .gitignore; EVIL deploy/evil.yaml"))
    };
    let denied = "s/Seconds: 30/Seconds: 0/";
    let based = |before: &str, after: &str| {
        format!("{before}; git add -A -f; git commit -q -m base; git branch -f main; {after}")
    };
    let moved_out = |before: &str, after: &str| {
        based(before, &format!("{after}; edit deploy/new.yaml '{IMMUTABLE}'"))
    };
    let changed = vec![(FOLDER, 1), (PLAN, 1)];
    let submodule = |files: &str| {
        format!(
            "mkdir sub; cd sub; git init -q -b main; {files}; git add -f .; git commit -q -m sub; cd ..; \
             git -c protocol.file.allow=always submodule --quiet add ./sub deploy/sub; rm -rf sub; "
        )
    };
    let before = "git add -A; git commit -q -m before; git branch -f main; ";
    vec![
        (
            "nothing",
            "touch more".to_owned(),
            vec![(CHECK, 0), (FOLDER, 0), (FILE, 0), (PLAN, 0), (NEW_ONLY, 0), (POLICY, 0)],
        ),
        ("a set", added("EVIL deploy/evil.yaml"), all.clone()),
        (
            "an ignored link",
            added(
                "echo evil.yaml > .gitignore; EVIL deploy/evil.txt; ln -s evil.txt deploy/evil.yaml",
            ),
            all.clone(),
        ),
        ("braces", ignored("{evil,x}.yaml"), all.clone()),
        ("a tab", ignored("evil.yaml\\t"), all.clone()),
        (
            "an ignored folder",
            added("echo /deploy/a > .gitignore; mkdir -p deploy/a/b; EVIL deploy/a/b/evil.yaml"),
            all.clone(),
        ),
        (
            "a name in Latin-1",
            added("echo 'evil*' > .gitignore; EVIL \"$(printf 'deploy/evil\\377.yaml')\""),
            all.clone(),
        ),
        (
            "a folder in Latin-1",
            added("d=$(printf 'deploy/\\377/vendor'); mkdir -p $d; EVIL $d/evil.yaml"),
            unread.clone(),
        ),
        (
            "a file in Latin-1 that cannot be read",
            added(
                "EVIL \"$(printf 'deploy/\\377.yaml')\"; echo '{{ x' >> \"$(printf 'deploy/\\377.yaml')\"",
            ),
            vec![(CHECK, 1), (FOLDER, 1)],
        ),
        (
            "a submodule",
            submodule("echo evil.yaml > .gitignore; cat ../evil > evil.yaml"),
            all.clone(),
        ),
        (
            "an edit beside a submodule",
            format!("{}{before}touch more", submodule(PARTIAL)),
            vec![(CHECK, 0), (FOLDER, 0), (PLAN, 0)],
        ),
        (
            "a part in a new commit of a submodule",
            format!(
                "{}{before}cd deploy/sub; edit patch.yaml s/4/5/; git commit -q -a -m more; cd ../..",
                submodule(PARTIAL)
            ),
            vec![(CHECK, 1), (FOLDER, 1)],
        ),
        (
            "a submodule whose new commit is to be ignored",
            format!(
                "{}printf 'resources: [db.yaml]\npatches: [{{path: sub/p.txt}}]' > deploy/kustomization.yaml; {before}\
                 git config -f .gitmodules submodule.deploy/sub.ignore all; cd deploy/sub; echo '# b' >> p.txt; \
                 git commit -q -a -m more; cd ../..",
                submodule("cat ../deploy/db.yaml > p.txt")
            ),
            unread.clone(),
        ),
        ("a name that is only an extension", added("EVIL deploy/.yaml"), all.clone()),
        (
            "a pointer of Git LFS",
            "printf 'version https://git-lfs.github.com/spec/v1\\nsize 1\\n' > deploy/evil.yaml"
                .to_owned(),
            unread.clone(),
        ),
        (
            "a line break of YAML alone",
            format!(
                "echo '# a' >> shared/far.yaml; {before}edit shared/far.yaml \"s/^#/#$(printf '\\r')/\""
            ),
            vec![(FOLDER, 1), (PLAN, 2)],
        ),
        (
            "a link to an exempt file",
            "cat tests/db.yaml > tests/g.yaml; edit tests/g.yaml 's/name: db}/name: g}/'; \
             ln -s ../tests/g.yaml deploy/g.yaml"
                .to_owned(),
            vec![(CHECK, 1), (NEW_ONLY, 1)],
        ),
        (
            "a link to an exempt folder",
            "edit tests/db.yaml 's/name: db}/name: g}/'; ln -s ../tests deploy/g".to_owned(),
            vec![(CHECK, 1), (NEW_ONLY, 1)],
        ),
        (
            "an exempt file that moves",
            format!("git rm -q deploy/db.yaml; {before}git mv tests/db.yaml deploy/"),
            vec![(CHECK, 1), (NEW_ONLY, 1)],
        ),
        (
            "a copy of an exempt file",
            format!("git rm -q deploy/db.yaml; {before}cp tests/db.yaml deploy/"),
            vec![(CHECK, 1), (NEW_ONLY, 1)],
        ),
        (
            "a link to a folder",
            moved("git mv deploy deploy2; ln -s deploy2 deploy"),
            vec![(FOLDER, 1), (FILE, 1), (PLAN, 1)],
        ),
        (
            "a link to a file",
            moved("git mv deploy/db.yaml deploy/db.txt; ln -s db.txt deploy/db.yaml"),
            vec![(CHECK, 1), (FILE, 1), (PLAN, 1)],
        ),
        ("the target of a link", format!("edit deploy/in.txt '{IMMUTABLE}'"), all.clone()),
        (
            "the target of a link to elsewhere",
            format!("edit shared/far.yaml '{IMMUTABLE}'"),
            vec![(FOLDER, 1), (PLAN, 2)],
        ),
        (
            "a file in a folder elsewhere",
            added("EVIL shared/folder/evil.yaml"),
            vec![(FOLDER, 1), (PLAN, 2)],
        ),
        ("a link to nothing", "ln -s ../none.yaml deploy/none.yaml".to_owned(), unread.clone()),
        (
            "a tag like a branch",
            "git update-ref refs/tags/main $(git commit-tree -m tagged HEAD^{tree}); touch more"
                .to_owned(),
            vec![(CHECK, 2), (PLAN, 2), (NEW_ONLY, 2)],
        ),
        (
            "a file that is tracked and ignored before",
            format!(
                "echo db.yaml > .gitignore; git add .gitignore; git commit -q -m ignored; git branch -f main; \
                 edit deploy/db.yaml '{IMMUTABLE}'"
            ),
            vec![(CHECK, 1), (RENDER, 1), (PLAN, 1)],
        ),
        (
            "an endless .helmignore",
            "mkdir -p deploy/c/charts/s; ln -s /dev/zero deploy/c/.helmignore; \
             echo 'apiVersion: v2' | tee deploy/c/Chart.yaml > deploy/c/charts/s/Chart.yaml"
                .to_owned(),
            unread.clone(),
        ),
        (
            "a namespace that a kustomization had",
            based(
                "printf 'resources: [db.yaml]\\nnamespace: shop\\n' > deploy/kustomization.yaml",
                &format!(
                    "git rm -q deploy/kustomization.yaml; edit deploy/db.yaml '{IMMUTABLE};s/name: db}}/name: db, namespace: shop}}/'"
                ),
            ),
            changed.clone(),
        ),
        (
            "a namespace that a kustomization has",
            based(
                "edit deploy/db.yaml 's/name: db}/name: db, namespace: shop}/'",
                &format!(
                    "printf 'resources: [db.yaml]\\nnamespace: shop\\n' > deploy/kustomization.yaml; \
                     edit deploy/db.yaml '{IMMUTABLE};s/, namespace: shop//'"
                ),
            ),
            changed.clone(),
        ),
        (
            "a patch that a kustomization had",
            based(
                "printf 'resources: [db.yaml]\\nreplicas: [{name: db, count: 5}]\\n' > deploy/kustomization.yaml",
                "echo 'resources: [db.yaml]' > deploy/kustomization.yaml",
            ),
            unread.clone(),
        ),
        (
            "a kustomization that is gone",
            based(
                "printf 'resources: [db.yaml]\\nnamePrefix: prod-\\n' > deploy/kustomization.yaml",
                "git rm -q deploy/kustomization.yaml",
            ),
            unread.clone(),
        ),
        (
            "an overlay that is gone",
            based(
                "mkdir -p deploy/prod; printf 'resources: [../base]\\nnamePrefix: prod-\\n' > deploy/prod/kustomization.yaml",
                "git rm -rq deploy/prod",
            ),
            vec![(CHECK, 0), (FOLDER, 0), (PLAN, 0)],
        ),
        (
            "an excluded kustomization",
            based(
                "mkdir old; sed 's/name: db}/name: old}/' deploy/db.yaml > old/db.yaml; \
                 printf 'resources: [db.yaml]\\nnamePrefix: a-\\n' > old/kustomization.yaml; echo 'exclude: [/old]' >> setguard.yaml",
                "echo 'namePrefix: b-' > old/kustomization.yaml",
            ),
            vec![(CHECK, 0)],
        ),
        (
            "a set that was a dependency",
            moved_out(
                "mkdir deploy/vendor; sed 's/name: db/name: v/' deploy/db.yaml > deploy/vendor/new.yaml",
                "git mv deploy/vendor/new.yaml deploy/new.yaml",
            ),
            changed.clone(),
        ),
        (
            "a file that was a link",
            moved_out(
                "ln -s ../shared/far.yaml deploy/new.yaml; git rm -q --cached deploy/far.yaml; rm deploy/far.yaml",
                "cp shared/far.yaml x; rm deploy/new.yaml; mv x deploy/new.yaml",
            ),
            changed.clone(),
        ),
        (
            "a file that was in Latin-1",
            based(
                "edit deploy/db.yaml \"s/name: db}/name: db, annotations: {a: $(printf '\\374')}}/\"",
                &format!(
                    "git show main~:deploy/db.yaml > deploy/db.yaml; edit deploy/db.yaml '{IMMUTABLE}'"
                ),
            ),
            changed,
        ),
        (
            "a kind that is filled in",
            added(
                "EVIL deploy/evil.yaml; edit deploy/evil.yaml 's/kind: .*/kind: ${K:=StatefulSet}/'",
            ),
            unread.clone(),
        ),
        (
            "a template",
            added("EVIL deploy/evil.yaml; edit deploy/evil.yaml '/kind: /a{{ if x }}'"),
            [&unread[..], &[(PLAN_RENDER, 2)]].concat(),
        ),
        (
            "a part of a set",
            added(
                "mkdir deploy/patches; EVIL deploy/patches/e.yaml; edit deploy/patches/e.yaml '/selector/d;s/metadata: {labels.*/x: y/'",
            ),
            unread,
        ),
        (
            "the exempt fault of a copy",
            format!("edit deploy/db.yaml '{denied}'"),
            vec![(NEW_ONLY, 1)],
        ),
        (
            "a move to a copy",
            format!(
                "edit deploy/db.yaml '{denied}'; mkdir -p x/tests; git mv deploy/db.yaml x/tests/"
            ),
            vec![(NEW_ONLY, 1)],
        ),
        (
            "clusters that are apart",
            format!(
                "mkdir other; cp deploy/in.txt other/in.yaml; edit other/in.yaml '{IMMUTABLE}'; echo '{CLUSTERS}' >> setguard.yaml"
            ),
            vec![(STRICT, 1), (CHECK, 1)],
        ),
        (
            "a link to a copy of a policy",
            format!("edit deploy/db.yaml '{denied}'; git mv ci ci2; ln -s ci2 ci"),
            vec![(POLICY, 1)],
        ),
    ]
}

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
    for (way, script, commands) in ways() {
        let folder = repository();
        sh(&folder, &format!("{script}\ngit add -A -f; git commit -q -m second"));
        for (command, code) in commands {
            seen += 1;
            let ran = folder.setguard(&command.split(' ').collect::<Vec<_>>());
            assert_eq!(ran.code, code, "{way}: setguard {command}: {ran:#?}");
        }
    }
    assert!(seen > 40, "only {seen} runs");
}

/// A shell notes the way to its folder.
#[test]
fn a_working_folder_that_is_a_link_now_is_compared_with_the_folder_before() {
    let folder = repository();
    sh(
        &folder,
        &format!(
            "edit deploy/db.yaml '{IMMUTABLE}'; git mv deploy deploy2; ln -s deploy2 deploy; git add -A"
        ),
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
