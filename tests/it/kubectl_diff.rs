//! `setguard diff`, as `kubectl diff` calls it.

use std::fs;

use crate::folder::{Folder, on_delete};

#[test]
fn exit_codes_are_those_of_diff() {
    let name = "apps.v1.DaemonSet.ops.agent";
    let text = on_delete("agent", "");
    let folder = Folder::new([
        (format!("LIVE-1/{name}").as_str(), text.as_str()),
        (&format!("MERGED-1/{name}"), &text),
    ]);
    let diff = |args: &[&str]| folder.setguard(&[&["diff", "LIVE-1", "MERGED-1"], args].concat());
    let ran = diff(&[]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));

    // The warning is not new.
    folder.write(
        &format!("MERGED-1/{name}"),
        text.replace("  selector:", "  minReadySeconds: 5\n  selector:"),
    );
    diff(&["--deny-warnings"])
        .ends(1)
        .prints("\n+  minReadySeconds: 5\n")
        .prints("1 finding not new");

    folder.write(
        &format!("MERGED-1/{name}"),
        text.replace("matchLabels: {app: agent}", "matchLabels: {}"),
    );
    diff(&[]).ends(2).prints("field is immutable");

    // An object that is new.
    fs::remove_file(folder.path(&format!("LIVE-1/{name}"))).unwrap();
    folder.write(&format!("MERGED-1/{name}"), &text);
    diff(&[]).ends(1).prints("warning[on-delete-ignores-rolling-update]");
    assert_eq!(diff(&["--deny-warnings"]).code, 2);
    assert_eq!(folder.setguard(&["diff", "none", "nor-this"]).code, 2);
}

#[test]
fn kubectl_writes_the_command_behind_the_folders() {
    let text = on_delete("agent", "");
    let folder =
        Folder::new([("LIVE-1/a", text.as_str()), ("MERGED-1/a", &(text.clone() + "# b\n"))]);
    let path = |name| folder.path(name).display().to_string();
    let (live, merged) = (path("LIVE-1"), path("MERGED-1"));
    folder.setguard(&[&live, &merged, "diff", "--deny-warnings"]).ends(1).prints("\n+# b\n");
}

#[cfg(unix)]
#[test]
fn a_plugin_of_kubectl_says_how_it_is_called() {
    let folder = Folder::new([]);
    let plugin = folder.path("kubectl-setguard");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_setguard"), &plugin).unwrap();
    let output =
        folder.command(plugin.to_str().unwrap()).args(["check", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Usage: kubectl setguard check "), "{help}");
    let help = folder.setguard(&["check", "--help"]).stdout;
    assert!(help.contains("Usage: setguard check "), "{help}");
}
