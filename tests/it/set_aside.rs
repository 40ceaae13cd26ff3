//! Manifests that run in no cluster that lasts: tests, and what is no longer used.

use serde_json::Value;

use crate::folder::{Folder, on_delete};

/// A part of a set, as a test expects it in a cluster.
const EXPECTED: &str =
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nstatus: {readyReplicas: 3}\n";

/// The files with findings that are no errors, and the severities of these.
fn severities(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let found = findings.map(|it| (it["file"].as_str().unwrap(), it["severity"].as_str().unwrap()));
    let mut found: Vec<_> = found.filter(|(_, severity)| *severity != "error").collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn a_warning_about_a_test_or_about_what_is_no_longer_used_is_a_note() {
    let set = on_delete("agent", "");
    let folder = Folder::new([
        ("deploy/a.yaml", set.as_str()),
        // From manifests/deprecated of easzlab/kubeasz, and test/goldpinger of microsoft/retina.
        ("manifests/deprecated/efk/b.yaml", &set),
        ("test/goldpinger/c.yaml", &set),
        ("hack/cni-install.yaml", &set),
        // From GoogleCloudPlatform/ai-on-gke.
        ("benchmarks/infra/driver.yaml", &set),
        // An environment.
        ("apps/prod/d.yaml", &set),
        ("apps/test/d.yaml", &set),
    ]);
    let (code, report) = folder.json(". --deny-warnings");
    assert_eq!(code, 1, "{report}");
    let notes = [
        "./benchmarks/infra/driver.yaml",
        "./hack/cni-install.yaml",
        "./manifests/deprecated/efk/b.yaml",
        "./test/goldpinger/c.yaml",
    ];
    assert_eq!(severities(&report), notes.map(|file| (file, "note")));
    let findings = report["findings"].as_array().unwrap().iter();
    assert_eq!(findings.filter(|it| it["severity"] == "error").count(), 3, "{report}");
    // Whoever checks the changes of others sees the warnings, and a policy decides about names.
    let (_, report) = folder.json(". --no-ignores");
    assert!(severities(&report).iter().all(|(_, severity)| *severity == "warning"), "{report}");
    folder.write(
        "setguard.yaml",
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nfolderNames: {hack: warn, deploy: note}\n",
    );
    let (_, report) = folder.json(".");
    let found = severities(&report);
    assert!(found.contains(&("./hack/cni-install.yaml", "warning")), "{report}");
    assert!(found.contains(&("./deploy/a.yaml", "note")), "{report}");
    std::fs::remove_file(folder.path("setguard.yaml")).unwrap();
    let why = "not a warning: the folder deprecated is no longer used";
    assert!(folder.check(".").stdout.contains(why));
    // A file that the user names is meant.
    for path in ["test/goldpinger/c.yaml", "test/goldpinger", "test"] {
        let (_, report) = folder.json(path);
        assert!(severities(&report).iter().all(|(_, severity)| *severity == "warning"), "{path}");
    }
}

/// A DaemonSet with a toleration of the old taint and a folder of device plugins.
const PLUGIN: &str = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin}\nspec:\n  \
     selector: {matchLabels: {app: plugin}}\n  template:\n    metadata: {labels: {app: plugin}}\n    spec:\n      \
     tolerations: [{key: node-role.kubernetes.io/master, effect: NoSchedule}]\n      \
     volumes: [{name: d, hostPath: {path: /var/lib/kubelet/device-plugins}}]\n      \
     containers: [{name: main, image: \"gpu:1\", volumeMounts: [{name: d, mountPath: /d}]}]\n";

/// The rules of the warnings about a file.
fn warned(folder: &Folder, args: &str, file: &str) -> Vec<String> {
    let (_, report) = folder.json(args);
    let findings = report["findings"].as_array().unwrap().iter();
    let found = findings.filter(|it| it["severity"] == "warning");
    let of_file = found.filter(|it| it["file"].as_str().unwrap().ends_with(file));
    of_file.map(|it| it["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_fault_that_does_no_damage_in_the_cluster_of_a_folder_is_a_note() {
    let sample = PLUGIN.replace("gpu:1", "registry.example.com/sample-device-plugin:1");
    let (full, old) = ("daemon-without-priority", "legacy-master-toleration");
    let cases = [
        ("deploy/a.yaml", PLUGIN, vec![full, old]),
        // From kubevirt/hostpath-provisioner.
        ("cluster-up/b.yaml", PLUGIN, vec![old]),
        ("hosts/kind-sriov/c.yaml", PLUGIN, vec![old]),
        // From kubevirt/kubevirtci.
        ("cluster-provision/gocli/c.yaml", PLUGIN, vec![old]),
        // From GoogleCloudPlatform/kubernetes-engine-samples.
        ("gke-costs/d.yaml", PLUGIN, vec![full]),
        ("deploy/e-eks.yaml", PLUGIN, vec![full]),
        // From Excelero/nvmesh-csi-driver.
        ("deploy/f_k8s_1.22.yaml", PLUGIN, vec![full]),
        // From k8stopologyawareschedwg/sample-device-plugin.
        ("deploy/g.yaml", &sample, vec![old]),
    ];
    let folder = Folder::new(cases.each_ref().map(|(file, text, _)| (*file, *text)));
    for (file, _, rules) in cases {
        assert_eq!(warned(&folder, ".", file), rules, "{file}");
    }
    let ran = folder.check(".");
    for why in [
        "not a warning: the folder cluster-up is for a local cluster",
        "not a warning: the folder gke-costs is for a managed cluster, whose control plane has no nodes",
        "not a warning: the file f_k8s_1.22.yaml is named after an older release",
        "not a warning: the image sample-device-plugin is a sample, which no other pod needs",
    ] {
        assert!(ran.stdout.contains(why), "{why}: {ran:?}");
    }
    // A folder that the user names is meant.
    assert_eq!(warned(&folder, "cluster-up", "b.yaml"), [full, old]);
}

#[test]
fn a_warning_about_an_older_release_is_a_note() {
    let folder = Folder::new([
        // From vultr/vultr-csi and aws/amazon-vpc-cni-k8s.
        ("releases/v0.9.0.yaml", PLUGIN),
        ("releases/v0.10.0.yaml", PLUGIN),
        ("multus/v3.9.2/thin.yaml", PLUGIN),
        ("multus/v3.9.2/thick.yaml", PLUGIN),
        ("multus/v4.1.4/thick.yaml", PLUGIN),
    ]);
    for file in ["releases/v0.10.0.yaml", "v3.9.2/thin.yaml", "v4.1.4/thick.yaml"] {
        assert_eq!(warned(&folder, ".", file).len(), 2, "{file}");
    }
    for file in ["releases/v0.9.0.yaml", "v3.9.2/thick.yaml"] {
        assert!(warned(&folder, ".", file).is_empty(), "{file}");
    }
    let why = "not a warning: v0.9.0.yaml is for an older release than v0.10.0.yaml";
    assert!(folder.check(".").stdout.contains(why));
}

#[test]
fn a_finding_about_several_objects_is_a_note_there_too() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: a}\nspec:\n  replicas: 2\n  \
               serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    \
               metadata: {labels: {app: db}}\n    spec: {containers: [{name: main, image: \"db:1\"}]}\n\
               ---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: db, namespace: a}\n\
               spec: {minAvailable: 2, selector: {matchLabels: {app: db}}}\n";
    let folder = Folder::new([("deploy/db.yaml", set), ("tests/db.yaml", set)]);
    let ran = folder.check(". --format concise");
    let of = |file: &str| {
        let mut lines = ran.stdout.lines();
        lines.find(|it| it.contains(file) && it.contains("pdb-blocks-drain")).unwrap().to_owned()
    };
    assert!(of("deploy/db.yaml").contains("warning["), "{ran:?}");
    assert!(of("tests/db.yaml").contains("note["), "{ran:?}");
}

#[test]
fn the_tests_of_a_cluster_are_not_checked() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let foreign = [
        // From e2e-tests of percona/percona-server-mongodb-operator.
        "e2e-tests/compare/statefulset.yaml",
        "e2e/manifests/set.yaml",
        "hack/test_data/set.yaml",
        "integration-tests/k8s/set.yaml",
        "rules/fixtures/set.yaml",
    ];
    // KUTTL and Chainsaw.
    let expected = ["checks/plan/00-assert.yaml", "checks/volume/assert.yaml"];
    for case in foreign.iter().chain(&expected) {
        folder.write(case, EXPECTED);
    }
    folder.write("checks/volume/chainsaw-test.yaml", "kind: Test\n");
    let (code, report) = folder.json(".");
    assert_eq!((code, &report["summary"]["objects"]), (0, &1.into()), "{report}");
    let of = |reason: &str| -> Vec<&str> {
        let entries = report["notChecked"].as_array().unwrap().iter();
        let entries = entries.filter(|it| it["reason"] == reason);
        entries.map(|it| it["file"].as_str().unwrap().trim_start_matches("./")).collect()
    };
    assert_eq!(of("foreign"), foreign);
    assert_eq!(of("partial"), expected);
    for case in foreign.iter().chain(&expected).chain(&["e2e", "checks/volume", "checks/plan"]) {
        assert_eq!(folder.check(case).code, 1, "{case}");
    }
}

/// From tdarr of Apocrathia/homelab and samples of fluid-cloudnative/fluid: the claims are made elsewhere.
#[test]
fn a_claim_whose_access_mode_is_not_known_is_one_note() {
    let set = on_delete("agent", "").replace(
        "      containers:\n",
        "      volumes:\n      \
        - {name: a, persistentVolumeClaim: {claimName: tv}}\n      \
        - {name: b, persistentVolumeClaim: {claimName: music}}\n      containers:\n",
    );
    let claim = |mode: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: tv, namespace: ops}}\n\
             spec: {{accessModes: [{mode}]}}\n"
        )
    };
    for (claims, severity, names) in [
        (String::new(), "note", "the claims \"tv\", \"music\", which work only if"),
        (claim("ReadWriteOnce"), "warning", "the claims \"tv\", \"music\", which work only if"),
        (claim("ReadWriteMany"), "note", "the claim \"music\", which works only if"),
    ] {
        let folder = Folder::new([("set.yaml", format!("{set}{claims}").as_str())]);
        let ran = folder.check("set.yaml --format concise");
        let lines: Vec<_> = ran.stdout.lines().filter(|it| it.contains("shared-volume")).collect();
        assert_eq!(lines.len(), 1, "{ran:?}");
        assert!(lines[0].contains(&format!("{severity}[shared-volume]")), "{ran:?}");
        assert!(lines[0].contains(names), "{ran:?}");
    }
}
