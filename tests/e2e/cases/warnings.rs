//! Allowed objects, with or without a warning.

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("partition-covers-all-is-warned-of", partition_covers_all),
    Case::new("what-is-good-passes-in-silence", good),
    Case::new("a-field-that-is-dropped-is-warned-of-before", max_unavailable),
    Case::new("an-immutable-field-gets-its-remedy", immutable),
];

/// The warning must come before the API server drops the field; after that nothing can see it.
fn max_unavailable(namespace: &Namespace<'_>) {
    let parallel = json!({ "podManagementPolicy": "Parallel", "replicas": 6 });
    let strategy = json!({ "rollingUpdate": { "maxUnavailable": 3 } });
    let set = rolled_by(with(stateful_set("web"), &parallel), &strategy);
    if namespace.control_plane.minor() >= 37 {
        namespace.apply(&set).silently();
        let stored = namespace.read("statefulset/web");
        assert_eq!(stored["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], 3);
        return;
    }
    namespace.apply(&set).with_warning("max-unavailable-ignored");
    let stored = namespace.read("statefulset/web");
    assert_eq!(
        stored["spec"]["updateStrategy"],
        json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } }),
        "the API server of this release drops it",
    );
}

/// The API server rejects the change, until 1.36 without naming the field; setguard names the field and the remedy.
fn immutable(namespace: &Namespace<'_>) {
    namespace.apply(&stateful_set("web")).silently();
    let mut set = stateful_set("web");
    set["spec"]["serviceName"] = json!("another");
    let warning = "Warning: immutable-field: spec.serviceName: ";
    let mut remedy = String::new();
    let forbidden = match namespace.control_plane.minor() {
        ..=36 => "spec: Forbidden: updates to statefulset spec",
        37.. => "spec.serviceName: Invalid value: \"another\": field is immutable",
    };
    for flags in [&[][..], &["--dry-run=server"], &["--server-side", "--force-conflicts"]] {
        let args = [&["apply", "-f", "-"], flags].concat();
        let output = namespace.kubectl(&args, &set.to_string()).refused(&[warning, forbidden]);
        remedy = output.stderr.split('`').nth(1).expect("a command").to_owned();
    }
    assert_eq!(namespace.read("statefulset/web")["spec"]["serviceName"], "web");

    // The printed command works unchanged.
    let args: Vec<&str> = remedy.split_whitespace().skip(1).chain(["--wait=false"]).collect();
    namespace.kubectl(&args, "").accepted();
    // The garbage collector, the program that orphans the pods, does not run here.
    namespace.merge("statefulset/web", &json!({ "metadata": { "finalizers": null } })).accepted();
    namespace.apply(&set).silently();
    assert_eq!(namespace.read("statefulset/web")["spec"]["serviceName"], "another");

    namespace.apply(&daemon_set("agent")).silently();
    namespace.apply(&with_app(daemon_set("agent"), "another")).refused(&[
        "Warning: immutable-field: spec.selector: ",
        "spec.selector: Invalid value: ",
        "field is immutable",
    ]);
}

fn partition_covers_all(namespace: &Namespace<'_>) {
    let mut set = stateful_set("web");
    set["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "partition": 5 } });
    namespace.apply(&set).with_warning("partition-covers-all");
    let stored = namespace.read("statefulset/web");
    assert_eq!(stored["spec"]["updateStrategy"]["rollingUpdate"]["partition"], 5);
}

fn good(namespace: &Namespace<'_>) {
    for mut set in [daemon_set("agent"), stateful_set("web")] {
        namespace.apply(&set).silently();
        set["spec"]["template"]["spec"]["containers"][0]["image"] =
            json!("registry.example/main:2");
        namespace.apply(&set).silently();
    }
    for object in ["daemonset/agent", "statefulset/web"] {
        let stored = namespace.read(object);
        let image = &stored["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example/main:2");
    }
    namespace.kubectl(&["scale", "statefulset/web", "--replicas=7"], "").silently();
    assert_eq!(namespace.read("statefulset/web")["spec"]["replicas"], 7);
    namespace.kubectl(&["delete", "daemonset/agent", "statefulset/web"], "").silently();
    namespace.assert_none("daemonsets,statefulsets");
}
