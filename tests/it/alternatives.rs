//! A set in several files, for other clouds or releases, compared with a commit.

use crate::folder::Folder;

fn set(app: &str, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: controller}}\nspec:\n  \
         serviceName: controller\n  selector: {{matchLabels: {{app: {app}}}}}\n  template:\n    \
         metadata: {{labels: {{app: {app}}}}}\n    spec: {{containers: [{{name: main, image: \"{image}\"}}]}}\n"
    )
}

/// A repository like juicedata/juicefs-csi-driver: the selectors differ.
fn repository() -> Folder {
    let folder = Folder::new([
        ("deploy/base/set.yaml", set("a", "c:1").as_str()),
        ("deploy/test/set.yaml", &set("b", "c:1")),
        ("deploy/all.yaml", &set("c", "c:1")),
    ]);
    folder.commit();
    folder
}

#[test]
fn a_set_is_not_an_update_of_its_alternative() {
    let folder = repository();
    let check = |path| folder.setguard(&["check", path, "--against-ref", "HEAD"]);
    for path in [".", "deploy"] {
        let ran = check(path);
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        assert!(!ran.stdout.contains("immutable"), "{path}: {ran:?}");
    }
    // Its own file is compared.
    folder.write("deploy/test/set.yaml", set("d", "c:1"));
    let ran = check(".").ends(1);
    assert!(
        ran.stdout.contains("field is immutable") && ran.stdout.contains("test/set.yaml"),
        "{ran:?}"
    );
}

#[test]
fn a_set_that_alone_has_its_name_may_move() {
    let folder = Folder::new([("deploy/set.yaml", set("a", "c:1").as_str())]);
    folder.commit();
    folder.git("mv deploy/set.yaml deploy/moved.yaml");
    folder.write("deploy/moved.yaml", set("b", "c:1"));
    assert_eq!(folder.setguard(&["check", ".", "--against-ref", "HEAD"]).code, 1);
}

#[test]
fn alternatives_in_another_folder_are_found_by_their_paths() {
    let folder = repository();
    folder.write("new/base/set.yaml", set("a", "c:2"));
    folder.write("new/test/set.yaml", set("b", "c:2"));
    folder.setguard(&["check", "new", "--against", "deploy"]).ends(0);
    folder.write("new/test/set.yaml", set("a", "c:2"));
    assert_eq!(folder.setguard(&["check", "new", "--against", "deploy"]).code, 1);
}

#[test]
fn a_plan_compares_each_alternative_with_its_own_file() {
    let folder = repository();
    folder.write("deploy/test/set.yaml", set("b", "c:2"));
    let ran = folder.setguard(&["plan", ".", "--against-ref", "HEAD"]).ends(0);
    assert_eq!(ran.stdout.matches("nothing changes").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("image: c:1 -> c:2"), "{ran:?}");
}

/// Wherever the second file stands, applying it changes the object of the first.
#[test]
fn a_second_file_with_an_object_is_an_update_of_it() {
    let folder = Folder::new([("deploy/v1/set.yaml", set("a", "c:1").as_str())]);
    folder.commit();
    let check = || folder.setguard(&["check", ".", "--against-ref", "HEAD"]);
    for file in ["deploy/v2/set.yaml", "deploy/v1/zz.yaml", "zz.yaml"] {
        folder.write(file, set("b", "c:2"));
        let ran = check();
        assert_eq!(ran.code, 1, "{file}: {ran:?}");
        assert!(ran.stdout.contains("field is immutable"), "{file}: {ran:?}");
        let ran = folder.setguard(&["plan", ".", "--against-ref", "HEAD"]);
        assert_eq!(ran.code, 1, "{file}: {ran:?}");
        assert!(ran.stdout.contains(&format!("in ./{file}")), "{file}: {ran:?}");
        std::fs::remove_file(folder.path(file)).unwrap();
    }
    // Unless the policy says that it is for another cluster.
    folder.write("deploy/v2/set.yaml", set("b", "c:2"));
    let clusters = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nclusters:\n- {name: one, paths: [deploy/v1/**]}\n\
                    - {name: two, paths: [deploy/v2/**]}\n";
    folder.write("setguard.yaml", clusters);
    check().ends(0);
    std::fs::remove_file(folder.path("setguard.yaml")).unwrap();
    // The file that it had before is gone, so the set has moved.
    folder.git("rm -q deploy/v1/set.yaml");
    assert_eq!(check().code, 1);
    assert_eq!(folder.setguard(&["plan", ".", "--against-ref", "HEAD"]).code, 1);
    // That file has another object now.
    folder
        .write("deploy/v1/set.yaml", set("a", "c:1").replace("name: controller}", "name: other}"));
    assert_eq!(check().code, 1);
    // An object of a cluster has no file.
    folder.write("dump.yaml", set("a", "c:1"));
    folder.write("deploy/v1/set.yaml", set("a", "c:1"));
    assert_eq!(folder.setguard(&["check", "deploy", "--against", "dump.yaml"]).code, 1);
}

#[test]
fn a_plan_names_the_files_of_alternatives() {
    let folder = repository();
    folder.write("deploy/test/set.yaml", set("d", "c:2"));
    let args = ["plan", ".", "--against-ref", "HEAD"];
    let ran = folder.setguard(&args).ends(1);
    for file in ["base/set.yaml", "test/set.yaml", "all.yaml"] {
        assert!(
            ran.stdout.contains(&format!("StatefulSet default/controller in ./deploy/{file}")),
            "{ran:?}"
        );
    }
    let ran = folder.setguard(&[&args[..], &["--format", "markdown"]].concat());
    let refused = "- **Refused**: `StatefulSet default/controller in ./deploy/test/set.yaml`";
    assert!(ran.stdout.contains(refused), "{ran:?}");
    folder
        .setguard(&[&args[..], &["--format", "json"]].concat())
        .prints("\"file\": \"./deploy/test/set.yaml\"");
}

/// A second file in one folder changes limits, immutable fields and the plan, and is said.
#[test]
fn a_second_file_is_no_way_around_limits() {
    let with = |replicas: u32| {
        let retention = "  replicas: N\n  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}\n  \
                         volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], \
                         resources: {requests: {storage: 1Gi}}}}]\n";
        set("a", "c:1") + &retention.replace('N', &replicas.to_string())
    };
    let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nlimits: [{deletesClaims: false, reason: agreed}]\n";
    let folder = Folder::new([("deploy/db.yaml", with(3).as_str()), ("setguard.yaml", policy)]);
    folder.commit();
    folder.write("deploy/zz.yaml", with(1));
    for command in ["check", "plan"] {
        let ran = folder.setguard(&[command, "deploy", "--against-ref", "HEAD"]);
        assert_eq!(ran.code, 1, "{command}: {ran:?}");
        let expected = "this update removes controller-1 and controller-2";
        assert!(ran.stdout.contains(expected), "{command}: {ran:?}");
        assert!(!ran.stdout.contains("is new"), "{command}: {ran:?}");
    }
    let ran = folder.setguard(&["check", "deploy", "--against-ref", "HEAD"]);
    let twice =
        "StatefulSet controller (deploy/db.yaml:1) is the same object: where both are applied";
    assert!(ran.stdout.contains(twice) || ran.stderr.contains(twice), "{ran:?}");
    // Both stood there before.
    folder.write("deploy/zz.yaml", with(3));
    folder.commit();
    let ran = folder.setguard(&["plan", "deploy", "--against-ref", "HEAD"]);
    assert_eq!(ran.stdout.matches("nothing changes").count(), 2, "{ran:?}");
    // A third one changes the last of them.
    folder.write("deploy/zzz.yaml", with(1));
    for command in ["check", "plan"] {
        let ran = folder.setguard(&[command, "deploy", "--against-ref", "HEAD"]);
        assert_eq!(ran.code, 1, "{command}: {ran:?}");
    }
    // In another folder it may be for another cluster.
    for [old, new] in [["zz.yaml", "one/db.yaml"], ["zzz.yaml", "two/db.yaml"]] {
        std::fs::remove_file(folder.path(&format!("deploy/{old}"))).unwrap();
        folder.write(&format!("deploy/{new}"), with(3));
    }
    std::fs::remove_file(folder.path("deploy/db.yaml")).unwrap();
    folder.commit();
    folder.write("deploy/three/x.yaml", with(1));
    for command in ["check", "plan"] {
        let ran = folder.setguard(&[command, "deploy", "--against-ref", "HEAD"]).ends(0);
        let unclear = "it is not clear whether this one changes it";
        assert!(ran.stdout.contains(unclear) || ran.stderr.contains(unclear), "{ran:?}");
    }
}
