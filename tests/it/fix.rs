//! `check --fix` removes the finding, adds no other, and keeps every other byte.

mod layouts;

use crate::prelude::*;

#[test]
fn a_change_that_is_not_safe_is_only_shown() {
    let rules = "claim-without-class grace-period-zero history-limit-zero max-unavailable-everything \
        partition-covers-all surge-host-port surge-shared-node-resource template-finalizers \
        template-node-name template-scheduling-gates";
    for rule in rules.split(' ') {
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
fn the_end_of_a_file_needs_no_line_break() {
    let strategy =
        "  updateStrategy:\n    type: OnDelete\n    rollingUpdate:\n      maxUnavailable: 2\n";
    let text = on_delete("agent", "");
    assert!(text.contains(strategy));
    let text = format!("{}{strategy}", text.replace(strategy, ""));
    let folder = Folder::new([("a.yaml", text.trim_end())]);
    folder.check("a.yaml").prints("1 can be fixed with --fix");
    folder.check("a.yaml --fix").reports("fixed: a.yaml: 1 finding");
    assert!(folder.read("a.yaml").ends_with("  updateStrategy:\n    type: OnDelete\n"));
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

    // A link out of the folder is neither followed nor written through.
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
