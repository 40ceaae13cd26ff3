//! `check --fix`: the finding is gone, no other has come, and every other byte is the same.

mod layouts;

use std::fs;

use crate::folder::{Folder, on_delete, rules};

#[test]
fn a_dry_run_shows_a_diff_that_git_applies() {
    let text = on_delete("agent", "").replace('\n', "\r\n");
    let folder = Folder::new([("deploy/a b.yaml", text.as_str())]);
    folder.git("init -q");
    let ran = folder.check("./deploy --fix --dry-run").ends(1).reports_only("");
    assert_eq!(folder.read("deploy/a b.yaml"), text);
    assert!(ran.stdout.starts_with("--- a/deploy/a b.yaml\n+++ b/deploy/a b.yaml\n@@ "), "{ran:?}");
    folder.write("patch", &ran.stdout);
    folder.git("apply patch");
    let patched = folder.read("deploy/a b.yaml");
    folder.write("deploy/a b.yaml", &text);
    folder
        .check("./deploy --fix --deny-warnings")
        .ends(0)
        .reports_only("fixed: ./deploy/a b.yaml: 1 finding\n");
    assert_eq!(folder.read("deploy/a b.yaml"), patched);
    let ran = folder.check("./deploy --fix --dry-run");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn a_change_that_is_not_safe_is_only_shown() {
    let rules = [
        "claim-without-class",
        "grace-period-zero",
        "history-limit-zero",
        "max-unavailable-everything",
        "partition-covers-all",
        "surge-host-port",
        "surge-shared-node-resource",
        "template-finalizers",
        "template-node-name",
        "template-scheduling-gates",
    ];
    for rule in rules {
        let bad = setguard::catalogue::find(rule).unwrap().meta.bad;
        let folder = Folder::new([("a.yaml", bad)]);
        folder.git("init -q");
        let ran = folder.check("a.yaml --fix --dry-run");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{rule}");
        let ran = folder.check("a.yaml --fix --dry-run --unsafe");
        let note = format!("note: a.yaml: these change what happens in the cluster: {rule}\n");
        assert_eq!((ran.code, ran.stderr.as_str()), (1, note.as_str()), "{rule}");
        assert_eq!(folder.read("a.yaml"), bad, "nothing is written");
        folder.write("patch", &ran.stdout);
        folder.git("apply patch");
        let (_, found) = folder.json("a.yaml");
        assert_eq!(self::rules(&found), Vec::<&str>::new(), "{rule}:\n{}", ran.stdout);
    }
    let ran = Folder::new([]).check("a.yaml --fix --unsafe");
    assert_eq!(ran.code, 2, "it writes nothing, so there must be something that shows it: {ran:?}");
}

#[test]
fn json_is_fixed_as_text() {
    let text = r#"{
  "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a", "namespace": "ops"},
  "spec": {
    "selector": {"matchLabels": {"app": "a"}},
    "updateStrategy": {
      "type": "OnDelete",
      "rollingUpdate": {
        "maxUnavailable": 2
      }
    },
    "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
      "tolerations": [
        {"key": "node-role.kubernetes.io/master", "operator": "Exists"}
      ],
      "containers": [{"name": "a", "image": "a:1"}]}}
  }
}
"#;
    let wanted = text
        .replace(",\n      \"rollingUpdate\": {\n        \"maxUnavailable\": 2\n      }", "")
        .replace(
            "\"operator\": \"Exists\"}\n",
            "\"operator\": \"Exists\"},\n        {\"key\": \"node-role.kubernetes.io/control-plane\", \"operator\": \"Exists\"}\n",
        );
    let folder = Folder::new([("a.json", text)]);
    folder.check("a.json --fix").reports("fixed: a.json: 2 findings");
    assert_eq!(folder.read("a.json"), wanted);
}

#[test]
fn values_that_are_shared_or_on_one_line_are_left() {
    let spec = on_delete("agent", "").split_once("spec:\n").unwrap().1.replace('\n', "\n  ");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {{name: a, namespace: ops}}\n  \
         spec: &spec\n  {spec}\n- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {{name: b, namespace: ops}}\n  spec: *spec\n"
    );
    let merged = on_delete("agent", "").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "    <<: {rollingUpdate: {maxUnavailable: 2}}\n",
        1,
    );
    let explicit = on_delete("agent", "").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "    ? rollingUpdate\n    : maxUnavailable: 2\n",
        1,
    );
    for text in [list, merged, explicit] {
        let folder = Folder::new([("a.yaml", text.as_str())]);
        assert!(
            rules(&folder.json("a.yaml").1).contains(&"on-delete-ignores-rolling-update"),
            "{text}"
        );
        let ran = folder.check("a.yaml --fix");
        assert_eq!(folder.read("a.yaml"), text);
        assert!(ran.stderr.contains("on-delete-ignores-rolling-update is left to you"), "{ran:?}");
    }
}

#[test]
fn what_is_meant_or_has_an_effect_is_left() {
    let exempt = on_delete("agent", "").replacen(
        "spec:",
        "spec: # setguard: ignore[on-delete-ignores-rolling-update]",
        1,
    );
    let hostname = on_delete("agent", "      hostname: a\n").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "",
        1,
    );
    let folder = Folder::new([("exempt.yaml", exempt.as_str()), ("hostname.yaml", &hostname)]);
    assert_eq!(rules(&folder.json("hostname.yaml").1), ["template-hostname-ignored"]);
    folder.check(". --fix");
    assert_eq!([folder.read("exempt.yaml"), folder.read("hostname.yaml")], [exempt, hostname]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new([("real.txt", on_delete("agent", "").as_str())]);
    fs::set_permissions(folder.path("real.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.txt", folder.path("link.yaml")).unwrap();
    folder.check(". --fix");
    assert!(!folder.read("real.txt").contains("rollingUpdate"));
    assert!(fs::symlink_metadata(folder.path("link.yaml")).unwrap().is_symlink());
    assert_eq!(fs::metadata(folder.path("real.txt")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn all_files_are_fixed_or_none() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let faulty = on_delete("agent", "");
    let outside = Folder::new([("b.yaml", faulty.as_str())]);
    let folder = Folder::new([("a.yaml", faulty.as_str()), ("z.yaml", &on_delete("z", ""))]);
    fs::hard_link(folder.path("z.yaml"), outside.path("other")).unwrap();
    let ran = folder.check(". --fix").ends(2).reports("z.yaml: cannot be written");
    assert!(ran.stderr.contains("another hard link") && !ran.stderr.contains("fixed:"), "{ran:?}");
    assert_eq!(folder.read("a.yaml"), faulty);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2, "no other file is left");

    // A link out of the folder is not followed, and what it leads to is not written.
    fs::remove_file(outside.path("other")).unwrap();
    symlink(outside.path("b.yaml"), folder.path("b.yaml")).unwrap();
    fs::set_permissions(folder.path("a.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = folder.check(". --fix");
    assert_eq!(ran.stderr.matches("fixed:").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("b.yaml: the link leads out of the folder"), "{ran:?}");
    assert_eq!(outside.read("b.yaml"), faulty);
    let mode = fs::metadata(folder.path("a.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A link that the user names stands for its file.
    let ran = folder.check("b.yaml b.yaml --fix");
    assert_eq!(ran.stderr.matches("fixed:").count(), 1, "{ran:?}");
    assert!(!outside.read("b.yaml").contains("rollingUpdate"));
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_left() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    assert_eq!(folder.setguard(&["check", "--fix", "-"]).code, 2);
    let latin = [b"# \xe9\n".as_slice(), on_delete("agent", "").as_bytes()].concat();
    folder.write("a.yaml", &latin);
    folder.check("a.yaml --fix");
    assert_eq!(fs::read(folder.path("a.yaml")).unwrap(), latin);
    assert_eq!(folder.check("a.yaml --dry-run").code, 2);
}

#[test]
fn a_dry_run_in_a_folder_below_names_files_from_the_root() {
    let folder = Folder::new([("deploy/a.yaml", on_delete("agent", "").as_str())]);
    folder.commit();
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    command.args(["check", "a.yaml", "--fix", "--dry-run"]).current_dir(folder.path("deploy"));
    let diff = command.output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&diff).starts_with("--- a/deploy/a.yaml"));
    folder.write("fix.diff", &diff);
    folder.git("apply fix.diff");
    assert!(!folder.read("deploy/a.yaml").contains("rollingUpdate"));
}

/// A selection chooses what is fixed too.
#[test]
fn a_rule_that_is_ignored_is_not_fixed() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let rule = "on-delete-ignores-rolling-update";
    for (flags, code) in [
        (format!("--ignore {rule}"), 0),
        ("--select schema".to_owned(), 0),
        (format!("--select {rule}"), 1),
    ] {
        assert_eq!(folder.check(&format!("a.yaml --fix --dry-run {flags}")).code, code, "{flags}");
    }
}
