//! Files chosen by a pull request: links, pipes, devices, and endless files.

use std::os::unix::fs::symlink;

use crate::folder::{Folder, Ran, on_delete};

const SECRET: &str = "https://user:token-1234@host\n\t[";

fn folder() -> (Folder, Folder) {
    let secrets = Folder::new([(".git-credentials", SECRET), ("secrets.yaml", SECRET)]);
    let folder = Folder::new([("deploy/a.yaml", on_delete("agent", "").as_str())]);
    (folder, secrets)
}

fn pipe(folder: &Folder, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(folder.path(name)).status().unwrap();
    assert!(made.success());
}

#[test]
fn what_a_folder_links_to_outside_is_not_read() {
    let (folder, secrets) = folder();
    folder.write("deploy/.git/config", SECRET);
    let target = |name: &str| secrets.path(name);
    symlink(target("secrets.yaml"), folder.path("deploy/b.yaml")).unwrap();
    symlink(target(".git-credentials"), folder.path("deploy/kustomization.yaml")).unwrap();
    symlink(secrets.0.path(), folder.path("deploy/c")).unwrap();
    symlink(".git/config", folder.path("deploy/d.yaml")).unwrap();
    symlink("/dev/zero", folder.path("deploy/e.yaml")).unwrap();
    pipe(&folder, "deploy/f.yaml");
    symlink("f.yaml", folder.path("deploy/g.yaml")).unwrap();
    for command in ["check", "plan", "inject", "try"] {
        let ran = folder.setguard(&[command, "deploy"]);
        assert!(!format!("{ran:?}").contains("token-1234"), "{ran:?}");
        assert_ne!(ran.code, 2, "{ran:?}");
    }
    let ran = folder.check("deploy");
    let files = "deploy/b.yaml, deploy/c, deploy/d.yaml, deploy/e.yaml, deploy/kustomization.yaml";
    let text = format!("not checked: {files}: the link leads out of the folder");
    assert!(ran.stdout.contains(&text), "{ran:?}");
    let text = "not checked: deploy/f.yaml, deploy/g.yaml: it isn't a regular file";
    assert!(ran.stdout.contains(text), "{ran:?}");
}

#[test]
fn a_pipe_that_is_named_is_read_and_what_has_no_end_is_an_error() {
    let (folder, _) = folder();
    let script = format!("'{}' check <(cat deploy/a.yaml)", env!("CARGO_BIN_EXE_setguard"));
    Ran::from(folder.command("bash").args(["-c", &script]).output().unwrap())
        .ends(0)
        .prints("in 1 set in 1 file");
    for args in ["/dev/zero", "- < /dev/zero", "deploy --policy /dev/zero"] {
        let script = format!("'{}' check {args}", env!("CARGO_BIN_EXE_setguard"));
        Ran::from(folder.command("bash").args(["-c", &script]).output().unwrap())
            .ends(2)
            .reports("larger than the limit of");
    }
}

/// The author of a pull request can commit a link with any name, such as a report name from the documentation.
#[test]
fn no_output_follows_a_link() {
    let (folder, outside) = folder();
    let link = |to: &str, name: &str| symlink(outside.path(to), folder.path(name)).unwrap();
    link("secrets.yaml", "file");
    link("new", "dangling");
    link("", "out");
    symlink("deploy/a.yaml", folder.path("inside")).unwrap();
    let before = folder.read("deploy/a.yaml");
    for flag in ["--output sarif=", "--write-baseline "] {
        for name in ["file", "dangling", "inside", "out/new", "./out/new", "deploy/../out/new"] {
            let ran = folder.check(&format!("deploy {flag}{name}"));
            assert!(ran.code == 2 && ran.stderr.contains("is a link"), "{flag}{name}: {ran:?}");
        }
    }
    let whole = folder.path("out/new");
    folder
        .check(&format!("deploy --output json={}", whole.display()))
        .ends(2)
        .reports("out is a link");
    assert_eq!(outside.read("secrets.yaml"), SECRET);
    assert_eq!(folder.read("deploy/a.yaml"), before);
    assert_eq!(std::fs::read_dir(outside.0.path()).unwrap().count(), 2, "nothing new");
}

#[test]
fn a_file_that_decides_what_git_ignores_is_regular_and_small() {
    let (folder, _) = folder();
    folder.commit();
    for name in ["link", "pipe", "huge"] {
        folder.write(&format!("{name}/a.yaml"), on_delete(name, ""));
    }
    symlink("/dev/zero", folder.path("link/.gitignore")).unwrap();
    pipe(&folder, "pipe/.gitignore");
    folder.write("huge/.gitignore", "*.yaml\n".repeat(200_000));
    let ran = folder.check(".").ends(0).prints("in 4 of 4 sets");
    for (name, why) in [
        ("link", "it is a link"),
        ("pipe", "it isn't a regular file"),
        ("huge", "it is larger than the limit of 1 MiB"),
    ] {
        assert!(ran.stderr.contains(&format!("{name}/.gitignore is not read: {why}")), "{ran:?}");
    }
}

/// Runs a command on charts and kustomizations in `repo`. The renderers show their arguments, or print a text.
fn render(repo: &Folder, args: &[&str], output: Option<&str>) -> Ran {
    let show = "echo \"Error: rendered: $*\" >&2\nexit 1".to_owned();
    let script = output.map_or(show, |it| format!("cat <<'END'\n{it}\nEND"));
    for program in ["helm", "kustomize"] {
        repo.write(&format!("bin/{program}"), format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n"));
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(repo.path(&format!("bin/{program}")), rights).unwrap();
    }
    let mut command = repo.command(env!("CARGO_BIN_EXE_setguard"));
    let ran: Ran = command
        .args(args)
        .current_dir(repo.path("repo"))
        .env("PATH", format!("{}:/usr/bin:/bin", repo.path("bin").display()))
        .output()
        .unwrap()
        .into();
    assert!(!format!("{ran:?}").contains("token-1234"), "{ran:?}");
    ran
}

fn repository(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new([("repo/.git/config", SECRET), ("outside/secret.yaml", SECRET)]);
    folder.write("outside/kustomization.yaml", "resources: [secret.yaml]\n");
    for (name, text) in files {
        match text.strip_prefix("-> ") {
            Some(target) => {
                folder.write(name, "");
                std::fs::remove_file(folder.path(name)).unwrap();
                symlink(target, folder.path(name)).unwrap();
            }
            None => folder.write(name, text),
        }
    }
    folder
}

#[test]
fn no_renderer_reads_what_is_outside_of_the_repository() {
    type Way = (String, Vec<(String, String)>, String);
    let ways = include_str!("../fixtures/files/renderers.jsonl").lines();
    assert_eq!(ways.clone().count(), 32);
    for way in ways {
        let (root, files, wanted): Way = serde_json::from_str(way).unwrap();
        let mut files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
        files.extend((root == "agent").then_some(("repo/agent/Chart.yaml", "name: agent\n")));
        let flag = if root == "agent" { "--chart" } else { "-k" };
        let repo = repository(&files);
        for command in ["check", "plan"] {
            render(&repo, &[command, flag, &root], None).ends(2).reports(&wanted);
        }
    }
}

/// A resource can have annotations of its own, and a template can print comments.
#[test]
fn no_place_is_outside_of_the_repository() {
    let set = |annotations: &str| {
        let metadata =
            format!("metadata:\n  annotations:\n{annotations}  name: agent\n  namespace: ops");
        on_delete("agent", "").replace("metadata: {name: agent, namespace: ops}", &metadata)
    };
    let of = |key: &str, text: &str| format!("    {key}: |\n      {text}\n");
    let origin = |path: &str| of("config.kubernetes.io/origin", &format!("path: {path}"));
    let transformations = of(
        "alpha.config.kubernetes.io/transformations",
        "[{configuredIn: OUTSIDE, configuredBy: {kind: ReplicaCountTransformer}}]",
    );
    let source = |path: &str| format!("---\n# Source: agent/{path}\n{}", on_delete("agent", ""));
    let texts = [
        set(&origin("OUTSIDE")),
        set(&(origin("BESIDE") + &transformations)),
        source("../../outside/secret.yaml"),
        source("charts/../../../outside/secret.yaml"),
        source("../ci-token"),
        source(".git/config"),
    ];
    for text in texts {
        let repo = repository(&[
            ("repo/ci-token", SECRET),
            ("repo/agent/Chart.yaml", "name: agent\n"),
            ("repo/prod/kustomization.yaml", "resources: [a.yaml]\n"),
            ("repo/prod/a.yaml", &on_delete("agent", "")),
        ]);
        let secret = repo.path("outside/secret.yaml");
        let text = text.replace("OUTSIDE", secret.to_str().unwrap());
        let text = text.replace("BESIDE", repo.path("repo/prod/a.yaml").to_str().unwrap());
        for args in [["check", "-k", "prod"], ["check", "--chart", "agent"]] {
            let ran = render(&repo, &args, Some(&text)).ends(0).prints("on-delete");
            assert!(!ran.stdout.contains("outside"), "{ran:?}");
        }
    }
}
