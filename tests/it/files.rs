//! Files that a pull request chose: links, pipes, devices, and files without an end.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use crate::folder::{Folder, Ran, on_delete};

const SECRET: &str = "https://user:token-1234@host\n\t[";

/// A folder with a good manifest, next to one with a secret.
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
fn links_inside_the_folder_are_followed() {
    let (folder, _) = folder();
    folder.write("deploy/base/b.txt", on_delete("b", ""));
    symlink("base/b.txt", folder.path("deploy/b.yaml")).unwrap();
    folder.write("deploy/store/c.yaml", on_delete("c", ""));
    symlink("store", folder.path("deploy/linked")).unwrap();
    let (code, report) = folder.json("deploy");
    assert_eq!((code, &report["summary"]["objects"]), (0, &4.into()), "{report}");
}

#[test]
fn a_pipe_that_is_named_is_read_and_what_has_no_end_is_an_error() {
    let (folder, _) = folder();
    let script = format!("'{}' check <(cat deploy/a.yaml)", env!("CARGO_BIN_EXE_setguard"));
    let ran = Ran::from(folder.command("bash").args(["-c", &script]).output().unwrap());
    assert!(ran.code == 0 && ran.stdout.contains("1 object"), "{ran:?}");
    for args in ["/dev/zero", "- < /dev/zero", "deploy --policy /dev/zero"] {
        let script = format!("'{}' check {args}", env!("CARGO_BIN_EXE_setguard"));
        let ran = Ran::from(folder.command("bash").args(["-c", &script]).output().unwrap());
        assert!(ran.code == 2 && ran.stderr.contains("MiB, which is the limit"), "{ran:?}");
    }
}

#[test]
fn a_policy_that_is_found_is_a_file_of_the_repository() {
    for name in ["setguard.yaml", ".setguard.yaml", ".github/setguard.yaml"] {
        let (folder, secrets) = folder();
        folder.commit();
        folder.write(".github/keep", "");
        symlink(secrets.path("secrets.yaml"), folder.path(name)).unwrap();
        let ran = folder.check("deploy");
        assert!(!format!("{ran:?}").contains("token-1234"), "{ran:?}");
        assert!(ran.code == 2 && ran.stderr.contains("isn't used as the policy"), "{ran:?}");
        assert_eq!(folder.check("deploy --no-config").code, 0);
        std::fs::remove_file(folder.path(name)).unwrap();
        folder.write("policy", "apiVersion: setguard.io/v1alpha1\nkind: Policy\n");
        symlink(folder.path("policy"), folder.path(name)).unwrap();
        assert_eq!(folder.check("deploy").code, 0, "{name}: a link inside the repository");
    }
}
