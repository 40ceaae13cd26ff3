//! `--against-ref` in repositories prepared by the author of a pull request. git must not run any program that a file
//! in them names.

use std::time::UNIX_EPOCH;

use crate::prelude::*;

fn repository() -> Folder {
    // For an Application, git lists what a change edits.
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n\
                       spec: {source: {path: deploy}}\n";
    let folder = Folder::new([
        ("deploy/a.yaml", on_delete("agent", "").as_str()),
        ("deploy/app.yaml", application),
    ]);
    folder.commit();
    folder
}

fn against(folder: &Folder, at: &str, reference: &str) -> Ran {
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let args = ["check", ".", "--against-ref", reference, "--new-only"];
    Ran::from(command.args(args).current_dir(folder.path(at)).output().unwrap())
}

const MISSING: &str = "1234567812345678123456781234567812345678";

/// A configuration with a command that leaves a file `ran` in every setting that takes a program. A remote at this
/// address promises the missing commits.
fn hostile(folder: &Folder, url: &str) -> String {
    let touch = format!("touch {}", folder.path("ran").display());
    format!(
        "[core]\n\trepositoryformatversion = 1\n\tsshCommand = {touch} #\n\tfsmonitor = {touch}\n\
         \tpager = {touch}\n\tgitProxy = {touch}\n\thooksPath = hooks\n\talternateRefsCommand = {touch}\n\
         \taskPass = {touch}\n\teditor = {touch}\n\
         [extensions]\n\tpartialClone = origin\n\
         [remote \"origin\"]\n\tpromisor = true\n\turl = {url}\n\tuploadpack = {touch} #\n\tproxy = ext::{touch}\n\
         [credential]\n\thelper = !{touch}\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n\
         [alias]\n\trev-parse = !{touch}\n\tls-tree = !{touch}\n\tls-files = !{touch}\n\tcat-file = !{touch}\n\
         [diff]\n\texternal = {touch}\n[filter \"x\"]\n\tsmudge = {touch}\n\tclean = {touch}\n\trequired = true\n\
         [diff \"x\"]\n\ttextconv = {touch}\n[gpg]\n\tprogram = {touch}\n[log]\n\tshowSignature = true\n\
         [pager]\n\tls-tree = {touch}\n\trev-parse = {touch}\n\
         [url \"ext::{touch} \"]\n\tinsteadOf = https://\n[uploadpack]\n\tpackObjectsHook = {touch}\n"
    )
}

/// Addresses of remotes that make git run something on fetch.
fn urls(folder: &Folder) -> [String; 4] {
    let touch = format!("touch {}", folder.path("ran").display());
    [
        "ssh://host/path".to_owned(),
        format!("ext::{touch}"),
        "https://host/path".to_owned(),
        folder.0.path().display().to_string(),
    ]
}

fn plant(folder: &Folder, at: &str, config: &str) {
    folder.write(&format!("{at}/HEAD"), "ref: refs/heads/main\n");
    folder.write(&format!("{at}/config"), config);
    folder.write(&format!("{at}/refs/heads/main"), format!("{MISSING}\n"));
    folder.write(&format!("{at}/objects/info/keep"), "");
    let hook = format!("#!/bin/sh\ntouch {}\n", folder.path("ran").display());
    folder.write(&format!("{at}/hooks/reference-transaction"), hook);
    folder.write(".gitattributes", "*.yaml filter=x diff=x\n");
}

fn runs_nothing(folder: &Folder, reference: &str, url: &str) {
    for (reference, code) in [(reference, 0), (MISSING, 2)] {
        let ran = against(folder, "deploy", reference);
        assert!(!folder.path("ran").exists(), "{url}: {ran:?}");
        assert_eq!(ran.code, code, "{url}: {ran:?}");
    }
}

#[test]
fn a_folder_that_looks_like_a_bare_repository_is_not_one() {
    for bare in ["bare = true", "bare = false\n\tworktree = ."] {
        let folder = repository();
        for url in urls(&folder) {
            let config = hostile(&folder, &url).replace("[core]", &format!("[core]\n\t{bare}"));
            plant(&folder, "deploy", &config);
            runs_nothing(&folder, "main", &url);
        }
    }
}

#[test]
fn a_bare_repository_without_a_git_folder_is_not_used() {
    let folder = Folder::new([("deploy/a.yaml", on_delete("agent", "").as_str())]);
    let config = hostile(&folder, "ssh://host/path");
    plant(&folder, "deploy", &config.replace("[core]", "[core]\n\tbare = false\n\tworktree = ."));
    let ran = against(&folder, "deploy", "main")
        .ends(2)
        .reports("there is no .git in this folder or above");
    assert!(!folder.path("ran").exists(), "{ran:?}");
}

/// Unlike a commit, an unpacked archive can contain a `.git`.
#[test]
fn a_git_folder_with_a_hostile_configuration_runs_nothing() {
    let folder = repository();
    for url in urls(&folder) {
        fs::write(folder.path(".git/config"), hostile(&folder, &url)).unwrap();
        plant(&folder, ".git/planted", "");
        runs_nothing(&folder, "HEAD", &url);
    }
}

/// Some repositories include a configuration from the work tree, so a pull request can change it. A submodule has an
/// address and a command.
#[test]
fn an_included_configuration_and_a_submodule_run_nothing() {
    let folder = repository();
    let touch = format!("touch {}", folder.path("ran").display());
    folder.write(
        ".gitmodules",
        format!(
            "[submodule \"sub\"]\n\tpath = deploy/sub\n\turl = ext::{touch}\n\tupdate = !{touch}\n"
        ),
    );
    folder.git(&format!("update-index --add --cacheinfo 160000,{MISSING},deploy/sub"));
    folder.git("add .gitmodules");
    folder.git("commit -q -m second");
    let own = fs::read_to_string(folder.path(".git/config")).unwrap();
    let include = "path = ../deploy/gitconfig\n";
    let included = format!("{own}[include]\n\t{include}[includeIf \"gitdir:**\"]\n\t{include}");
    folder.write(".git/config", &included);
    for url in urls(&folder) {
        folder.write("deploy/gitconfig", hostile(&folder, &url));
        let address = folder.command("git").args(["config", "remote.origin.url"]).output().unwrap();
        assert_eq!(Ran::from(address).stdout.trim(), url, "git reads what is included");
        runs_nothing(&folder, "HEAD", &url);
    }
}

/// `.git` is a file in a worktree and in a submodule.
#[test]
fn a_git_file_leads_to_its_repository_and_nowhere_else() {
    let folder = repository();
    let tree = folder.path("tree");
    folder.git(&format!("worktree add -q --detach {}", tree.display()));
    assert_eq!(against(&folder, "tree/deploy", "main").code, 0);

    let config = hostile(&folder, "ssh://host/path");
    plant(&folder, "store", &config.replace("[core]", "[core]\n\tbare = false"));
    folder.write("tree/.git", "gitdir: ../store\n");
    against(&folder, "tree/deploy", "main").ends(2);
    folder.write("tree/.git", "no repository\n");
    against(&folder, "tree/deploy", "main").ends(2).reports("names no repository");
    // git skips an empty `.git` folder, but setguard must not then use the repository above.
    fs::remove_file(folder.path("tree/.git")).unwrap();
    fs::create_dir(folder.path("tree/.git")).unwrap();
    let ran = against(&folder, "tree/deploy", "main").ends(2).reports("needs a git repository");
    assert!(!folder.path("ran").exists(), "{ran:?}");
}

#[test]
fn variables_of_git_do_not_choose_the_repository() {
    let (folder, other) = (repository(), repository());
    other.write("deploy/a.yaml", on_delete("other", ""));
    other.git("commit -q -a -m second");
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let touch = format!("touch {}", folder.path("ran").display());
    command.args(["check", "deploy", "--against-ref", "HEAD", "--new-only"]);
    for (name, value) in [
        ("GIT_DIR", other.path(".git").display().to_string()),
        ("GIT_WORK_TREE", other.0.path().display().to_string()),
        ("GIT_OBJECT_DIRECTORY", other.path(".git/objects").display().to_string()),
        ("GIT_INDEX_FILE", "index".to_owned()),
        ("GIT_SSH_COMMAND", touch.clone()),
        ("GIT_EXTERNAL_DIFF", touch.clone()),
        ("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor'='{touch}'")),
        ("GIT_TRACE", folder.path("ran").display().to_string()),
    ] {
        command.env(name, value);
    }
    let ran = Ran::from(command.output().unwrap()).ends(0).prints("1 finding not new");
    assert!(!folder.path("ran").exists(), "{ran:?}");
}

#[test]
fn a_missing_object_is_an_error_that_says_why() {
    let folder = repository();
    folder.git("config extensions.partialClone origin");
    folder.git("config remote.origin.url ssh://host/path");
    folder.git("config remote.origin.promisor true");
    let listed = folder.command("git").args(["rev-parse", "HEAD:deploy/a.yaml"]).output().unwrap();
    let id = Ran::from(listed).stdout.trim().to_owned();
    let object = folder.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    fs::remove_file(object).unwrap();
    against(&folder, "deploy", "HEAD")
        .ends(2)
        .reports("A partial clone lacks objects")
        .reports("deploy/a.yaml");
}

#[test]
fn a_file_that_a_filter_has_written_is_not_edited() {
    let patch =
        "[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"a\": \"LARGE\"}}]\n";
    let kustomization = "resources: [../deploy/a.yaml]\n\
                         patches: [{path: p.json, target: {kind: DaemonSet}}]\n";
    let folder = Folder::new([
        ("o/kustomization.yaml", kustomization),
        ("o/p.json", patch),
        ("deploy/a.yaml", &on_delete("agent", "")),
        ("testdata/a.yaml", &on_delete("LARGE", "")),
        (".gitattributes", "*.json filter=x\ntestdata/* filter=x\n"),
    ]);
    folder.git("init -q -b main");
    // Git LFS stores a pointer in the same way.
    folder.git("config filter.x.clean tr\tLARGE\tsmall");
    folder.commit();
    // git must compare the content of a file that is as new as its index.
    let index = fs::File::options().append(true).open(folder.path(".git/index")).unwrap();
    index.set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    let ran = against(&folder, ".", "main");
    assert_eq!(ran.code, 0, "{ran:#?}");
    for (file, text) in [("o/p.json", patch), ("testdata/a.yaml", &on_delete("LARGE", ""))] {
        folder.write(file, text.replace("LARGE", "EDITED"));
        let ran = against(&folder, ".", "main");
        assert_eq!(ran.code, 1, "{file}: {ran:#?}");
        folder.write(file, text);
    }
}
