//! Rejected objects, who rejects each, and the messages.

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("an-update-into-a-trap-is-denied", update_into_a_trap),
    Case::new("all-faults-are-named-at-once", all_causes),
    Case::new("a-patch-into-a-trap-is-denied", patches),
    Case::new("the-api-server-speaks-for-itself", api_server),
];

fn update_into_a_trap(namespace: &Namespace<'_>) {
    namespace.apply(&daemon_set("agent")).silently();
    let texts = ["(setguard: surge-host-port)"];
    refused_by_every_apply(namespace, &surging("agent"), &texts);
    let stored = namespace.read("daemonset/agent");
    assert_eq!(stored["metadata"]["generation"], 1, "the old object must stay as it was");
    assert_eq!(stored["spec"]["updateStrategy"]["rollingUpdate"]["maxSurge"], 0);
}

fn all_causes(namespace: &Namespace<'_>) {
    let mut daemon_set = surging("agent");
    let labels = json!({ "app": "e2e", "controller-revision-hash": "1" });
    daemon_set["spec"]["selector"]["matchLabels"] = labels.clone();
    daemon_set["spec"]["template"]["metadata"]["labels"] = labels;
    let field = "spec.updateStrategy.rollingUpdate.maxSurge: ";
    let texts = [field, "(setguard: surge-host-port)", "(setguard: selector-on-managed-labels)"];
    refused_by_every_apply(namespace, &daemon_set, &texts);

    let mut stateful_set = stateful_set(&"a".repeat(57));
    stateful_set["spec"]["ordinals"] = last_ordinals();
    let texts = ["metadata.name: ", "(setguard: name-too-long)", "(setguard: ordinal-overflow)"];
    refused_by_every_apply(namespace, &stateful_set, &texts);
    namespace.assert_none("daemonsets,statefulsets");
}

/// The API server validates the whole resulting object, whatever the patch type.
fn patches(namespace: &Namespace<'_>) {
    namespace.apply(&daemon_set("agent")).silently();
    namespace.apply(&stateful_set("web")).silently();
    let spec = surging("agent")["spec"].take();
    for (object, spec, id) in [
        ("daemonset/agent", spec, "surge-host-port"),
        ("statefulset/web", json!({ "ordinals": last_ordinals() }), "ordinal-overflow"),
    ] {
        let whole = json!({ "spec": spec });
        let operations = spec.as_object().expect("fields").iter();
        let operations: Value = operations
            .map(|(key, value)| json!({ "op": "add", "path": format!("/spec/{key}"), "value": value }))
            .collect();
        for (kind, patch) in [("strategic", &whole), ("merge", &whole), ("json", &operations)] {
            let args = ["patch", object, "--type", kind, "--patch", &patch.to_string()];
            namespace.kubectl(&args, "").refused(&[&format!("(setguard: {id})")]);
        }
        assert_eq!(namespace.read(object)["metadata"]["generation"], 1, "{object} must stay");
    }
}

/// Ordinals from the largest 32-bit number.
fn last_ordinals() -> Value {
    json!({ "start": i32::MAX })
}

/// Built-in validation precedes validating webhooks, so the user sees only its messages.
fn api_server(namespace: &Namespace<'_>) {
    let mut set = daemon_set("agent");
    set["spec"]["template"]["metadata"]["labels"] = json!({ "app": "another" });
    let output = namespace
        .kubectl(&["apply", "--dry-run=server", "-f", "-"], &set.to_string())
        .refused(&["spec.template.metadata.labels: Invalid value: ", "`selector` does not match"]);
    assert!(!output.stderr.contains("setguard"), "expected nothing from setguard in {output}");
}

fn refused_by_every_apply(namespace: &Namespace<'_>, object: &Value, texts: &[&str]) {
    for flags in [&[][..], &["--dry-run=server"], &["--server-side", "--force-conflicts"]] {
        let args = [&["apply", "-f", "-"], flags].concat();
        namespace.kubectl(&args, &object.to_string()).refused(texts);
    }
}
