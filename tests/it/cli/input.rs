//! The texts, files and folders that the commands read.

#[cfg(unix)]
use super::{GOOD, MISSPELT};
use crate::prelude::*;

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::quiet([("a.yaml", GOOD), ("b.yaml", GOOD)]);
    let path = folder.0.path().join("a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        return; // root may read everything
    }
    folder
        .setguard(&["check", "."])
        .ends(2)
        .reports("a.yaml: cannot be read")
        .prints("in 1 set in 1 file");
}

/// A different user could put a policy there.
#[cfg(unix)]
#[test]
fn no_policy_is_taken_from_a_shared_folder() {
    use std::os::unix::fs::PermissionsExt;
    let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n\
                  rules: {on-delete-ignores-rolling-update: deny}\n";
    let manifest = crate::folder::on_delete("agent", "");
    let files = [("a.yaml", manifest.as_str()), ("setguard.yaml", policy)];
    let folder = crate::folder::Folder::new(files);
    let set =
        |mode| fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o1777);
    let ran = folder.check("a.yaml");
    set(0o700);
    ran.ends(0).reports_only("");
    folder.check("a.yaml").ends(1);
}

#[test]
fn other_encodings_are_read_as_by_kubectl() {
    let folder = Folder::quiet([]);
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| {
        format!("\u{feff}{MISSPELT}").encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    for text in [utf_16(u16::to_le_bytes), utf_16(u16::to_be_bytes)] {
        folder.feed(&["check", "-"], &text).ends(1).prints("<stdin>:5:3");
    }
    let comment = [b"# caf\xe9\n", GOOD.as_bytes()].concat();
    assert_eq!(folder.feed(&["check", "-"], &comment).code, 0);
    // kubectl replaces the byte silently.
    let value = [GOOD.as_bytes(), b"# fine\nextra: caf\xe9 # x\n"].concat();
    folder.feed(&["check", "-"], &value).ends(2).reports("this is not UTF-8");
}

#[test]
fn inject_prints_what_kubectl_reads() {
    let texts = "\tx\ny\n|\n\tx\n|  x\n\ty\n|x\n \n\n|\n\n|a: b\n- c|\u{2028}\nx|#\n";
    for text in texts.split('|') {
        let value =
            serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text}});
        let ran = Folder::quiet([]).feed(&["inject", "-"], value.to_string().as_bytes()).ends(0);
        let read = setguard::yaml::parse(&ran.stdout).remove(0).unwrap().root.to_json();
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), value, "{}", ran.stdout);
    }
}
