//! Files that `check` passes over in a folder: a repository has much that is not a manifest.

use std::{fs, os::unix::fs::symlink};

use crate::folder::{Folder, Ran};

const GOOD: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  \
     selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {containers: [{name: main, image: \"db:1\"}]}\n";

/// A set that the API server refuses.
fn bad() -> String {
    GOOD.replace("{app: db}}\n    spec", "{app: web}}\n    spec")
}

fn check(folder: &Folder, args: &[&str]) -> Ran {
    folder.setguard(&[&["check"], args].concat())
}

#[test]
fn a_file_that_is_no_manifest_is_passed_over_in_a_folder() {
    let folder = Folder::new([
        ("good.yaml", GOOD),
        ("tsconfig.json", "{\n  // comments\n  \"a\": 1,\n}\n"),
        ("index.json", "[{{ range .Pages }}{{ end }}]"),
        ("vault.yaml", "$ANSIBLE_VAULT;1.1;AES256\n33363431: a: b\n"),
        // A Service that is broken has no set. The others are from percona/percona-server-mongodb-operator and
        // istio/istio.
        ("service.yaml", "apiVersion: 1\nkind: Service\n"),
        ("scorecard.yaml", "kind: Configuration\napiversion: scorecard.operatorframework.io/v1\n"),
        ("releasenotes.yaml", "apiVersion: release-notes/v2\nkind:\narea: security\n"),
        ("words.yaml", "just some words\n"),
        ("tool.yaml", "kind: Tool\nspec: {}\n"),
        ("number.yaml", "apiVersion: 1\nkind: instance-spec\n"),
        ("note.yaml", "piVersion: notes/v2\nkind: feature\n"),
        (
            "disks.json",
            "{\"kind\": \"compute#diskList\", \"items\": [{\"kind\": \"compute#disk\"}]}",
        ),
        ("scale.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: @NAME@}\n"),
        // From templates of cloudogu/gitops-playground.
        (
            "roles.ftl.yaml",
            "apiVersion: v1\nkind: ${kind}\nsubjects:\n  <#list accounts as it>\n  - a: b\n",
        ),
        ("template.yaml", "apiVersion: v1\nkind: Service\nmetadata: {{ include \"a\" . }}\n"),
    ]);
    folder.write("latin.yaml", b"name: M\xfcller\n");
    check(&folder, &["."]).ends(0).reports("6 files are passed over");
    // Named, it is an error.
    for file in ["tsconfig.json", "vault.yaml", "latin.yaml", "template.yaml"] {
        assert_eq!(check(&folder, &[file]).code, 2, "{file}");
    }
}

#[test]
fn a_manifest_that_cannot_be_read_is_an_error_in_a_folder_too() {
    for text in [
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: [\n",
        "apiVersion: v1\nkind: Service\n---\napiVersion: apps/v1\nkind: StatefulSet # db\na: {b\n",
        "apiVersion: apps/v1\nkind: \"Daemonset\"\nmetadata: {name: [\n",
        "apiVersion: apps/v1\nkind: $KIND\nmetadata: {name: [\n",
        "apiVersion: v1\nkind: List\nitems: [\n",
        "{\"apiVersion\": \"apps/v1\", \"kind\" : \"StatefulSet\", ]",
        "apiVersion: apps/v1\nKind: DaemonSet\nmetadata: {name: a}\n",
        "apiversion: apps/v1\nkind: daemonset\n",
        "apiVersion: v1\nkind: List\nitems: [{kind: ConfigMap}]\n",
    ] {
        let folder = Folder::new([("good.yaml", GOOD), ("deep/wrong.yaml", text)]);
        let ran = check(&folder, &["."]);
        assert_eq!(ran.code, 1, "{text}: {ran:?}");
        assert_eq!(check(&folder, &["deep/wrong.yaml"]).code, 2, "{text}");
    }
    let folder = Folder::new([("good.yaml", GOOD)]);
    folder.write("latin.yaml", b"apiVersion: v1\nkind: ConfigMap\ndata: {a: M\xfcller}\n");
    assert_eq!(check(&folder, &["."]).code, 2);
}

/// From test/integration/metrics-manifests of warm-metal/container-image-csi-driver.
#[test]
fn a_manifest_without_a_set_that_cannot_be_read_is_passed_over_if_it_is_applied_alone() {
    let job = "apiVersion: batch/v1\nkind: Job\nspec:\n  value: %IP\n";
    let folder = Folder::new([("good.yaml", GOOD), ("test/job.yaml", job)]);
    folder.write("deep/latin.yaml", b"apiVersion: v1\nkind: ConfigMap\ndata: {a: M\xfcller}\n");
    let ran = check(&folder, &["."]).ends(0);
    let note =
        "can't be read and has no DaemonSet and no StatefulSet: ./test/job.yaml:4: not YAML: ";
    assert!(ran.stderr.contains(note), "{ran:?}");
    let wrong = "{\"apiVersion\": \"v1\", \"kind\": \"Service\", ]";
    folder.write("deep/service.json", wrong);
    check(&folder, &["."]).ends(0).reports("2 files are passed over, because they can't be read");
    // kubectl would refuse to apply the folder, or to build it.
    assert_eq!(check(&folder, &["test", "good.yaml"]).code, 1);
    assert_eq!(check(&folder, &["test/job.yaml"]).code, 2);
    folder.write("test/kustomization.yaml", "resources: [job.yaml]\n");
    assert_eq!(check(&folder, &["."]).code, 1);
}

/// From kube-manifests of stacksimplify/azure-aks-kubernetes-masterclass.
#[test]
fn a_skeleton_without_values_is_passed_over() {
    let skeleton = "apiVersion:\nkind:\nmetadata:\nspec:\n";
    let folder = Folder::new([("good.yaml", GOOD), ("lesson.yaml", skeleton)]);
    check(&folder, &["."]).ends(0);
    assert_eq!(check(&folder, &["lesson.yaml"]).code, 2);
}

#[test]
fn links_to_nothing_and_in_circles_are_notes() {
    let folder = Folder::new([("good.yaml", GOOD)]);
    symlink("gone.yaml", folder.path("broken.yaml")).unwrap();
    symlink("gone", folder.path("broken")).unwrap();
    // Like the rules of udev in the image of kubernetes/minikube.
    symlink("own.yaml", folder.path("own.yaml")).unwrap();
    symlink("own", folder.path("own")).unwrap();
    fs::create_dir(folder.path("deep")).unwrap();
    symlink("..", folder.path("deep/circle")).unwrap();
    let ran = check(&folder, &["."]).ends(0);
    for note in [
        "broken.yaml is not read: the link leads to nothing",
        "circle is not read: the link",
        "own.yaml is not read: the link cannot be followed",
    ] {
        assert!(ran.stderr.contains(note), "{note}: {ran:?}");
    }
    assert_eq!(check(&folder, &["broken.yaml"]).code, 2);
}

#[test]
fn dependencies_and_test_data_are_entered_only_if_they_are_named() {
    let bad = bad();
    let folder = Folder::new([("good.yaml", GOOD), ("a/vendor/bad.yaml", &*bad)]);
    folder.write("node_modules/bad.yaml", &bad);
    let ran = check(&folder, &["."]).ends(0);
    let text = "not checked: ./a/vendor/bad.yaml: folders named vendor have dependencies";
    assert!(ran.stdout.contains(text), "{ran:?}");
    for named in ["a/vendor", "node_modules", "a/vendor/bad.yaml"] {
        assert_eq!(check(&folder, &[named]).code, 1, "{named}");
    }
}

#[test]
fn what_git_ignores_is_listed_unless_it_tracks_it() {
    let bad = bad();
    let folder = Folder::new([
        ("good.yaml", GOOD),
        ("rendered/bad.yaml", &bad),
        ("deep/out.yaml", &bad),
        ("deep/kept.yaml", GOOD),
        (".gitignore", "/rendered/\n*.yaml\n!good.yaml\n"),
        ("deep/.gitignore", "!kept.yaml\n"),
    ]);
    // Outside of a repository the file means nothing.
    assert_eq!(check(&folder, &["."]).code, 1);
    folder.git("init -q");
    for (here, file) in [(".", "./deep/out.yaml"), ("deep", "deep/out.yaml")] {
        let ran = check(&folder, &[here]).ends(0);
        assert!(ran.stdout.contains("git ignores it") && ran.stdout.contains(file), "{ran:?}");
    }
    assert!(check(&folder, &["."]).stdout.contains("2 not checked"));
    assert_eq!(check(&folder, &["rendered", "--allow-empty"]).code, 0, "the pattern *.yaml");
    assert_eq!(check(&folder, &["deep/out.yaml"]).code, 1);
    folder.git("add -f deep/out.yaml");
    assert_eq!(check(&folder, &["deep"]).code, 1);
}

#[test]
fn patterns_exclude_files_of_folders() {
    let bad = bad();
    let folder = Folder::new([
        ("good.yaml", GOOD),
        ("examples/bad.yaml", &*bad),
        ("deep/bad.values.yaml", &bad),
    ]);
    assert_eq!(check(&folder, &["."]).code, 1);
    let both = ["--exclude", "/examples", "--exclude=*.values.yaml"];
    assert_eq!(check(&folder, &[&["."][..], &both].concat()).code, 0);
    assert_eq!(check(&folder, &[".", "--exclude", "/bad.yaml", "--exclude=deep"]).code, 1);
    assert_eq!(check(&folder, &["examples/bad.yaml", "--exclude", "examples"]).code, 1);
    assert_eq!(check(&folder, &[".", "--exclude", "a[z-a]"]).code, 2);
}

#[test]
fn a_policy_excludes_files_of_folders() {
    let bad = bad();
    let policy = |pattern: &str| {
        format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\nexclude: [{pattern}]\n")
    };
    let folder = Folder::new([
        ("good.yaml", GOOD),
        ("app/good.yaml", GOOD),
        ("app/examples/bad.yaml", &*bad),
        (".github/setguard.yaml", &policy("/app/examples")),
    ]);
    folder.git("init -q");
    let text = "app/examples/bad.yaml: the policy excludes it";
    for place in [".", "app"] {
        check(&folder, &[place])
            .ends(0)
            .prints(text)
            .prints("patterns of files that are not checked: 1");
    }
    // A path that is named is checked.
    assert_eq!(check(&folder, &["app/examples"]).code, 1);
    assert_eq!(check(&folder, &["app/examples/bad.yaml"]).code, 1);
    // The patterns of a policy that is named are from the working folder.
    let below = |pattern: &str| {
        folder.write("other/policy.yaml", policy(pattern));
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.args(["check", ".", "--policy", "../other/policy.yaml"]);
        Ran::from(command.current_dir(folder.path("app")).output().unwrap())
    };
    assert_eq!(below("/examples").code, 0);
    assert_eq!(below("/app/examples").code, 1);
    below("\"a[z-a]\"").ends(2).reports("exclude[0]: ");
}

#[test]
fn a_policy_of_a_folder_below_is_not_used_and_that_is_said() {
    let folder = Folder::new([("good.yaml", GOOD), ("b/setguard.yaml", "rules: {}\n")]);
    check(&folder, &["."]).ends(0).reports("b/setguard.yaml is not read: a policy counts only");
}
