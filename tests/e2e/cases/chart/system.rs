//! Namespaces by prefix and by label, in the chart's match conditions.
//!
//! Nothing answers the calls, so the API server's error names the called webhook.

use serde_json::json;

use super::{release::Release, unanswered};
use crate::{Namespace, becomes};

pub(super) fn prefixes(namespace: &Namespace<'_>) {
    let control_plane = namespace.control_plane;
    for name in ["e2e-os", "e2e-os-dns", "e2e-os-velero", "e2e-lab-1", "e2e-core", "e2e-shop"] {
        Namespace::create(control_plane, name);
    }
    let label = ["label", "namespace", "e2e-core", "e2e-os-dns", "run-level=0"];
    control_plane.kubectl.run(&label, "").accepted();
    let release = Release::new(namespace, "system");
    let webhook = json!({
        "excludedNamespaces": ["e2e-lab-*", "e2e-os-velero"],
        "validating": {
            "systemNamespaces": ["kube-system", "e2e-os-*"],
            "systemNamespaceLabels": { "run-level": "0" },
        },
        "mutating": { "enabled": false },
    });
    let create = unanswered(namespace, &release, webhook);
    becomes("the webhooks to be called", || create("e2e-shop", &[]), |output| !output.success);
    for (within, webhook) in [
        ("e2e-shop", "create.validate"),
        // This name does not begin with `e2e-os-`.
        ("e2e-os", "create.validate"),
        ("e2e-os-dns", "system.validate"),
        ("kube-system", "system.validate"),
        ("e2e-core", "labelled-1.system.validate"),
    ] {
        let called = format!("failed calling webhook \"{webhook}.system-setguard.setguard.io\"");
        create(within, &[]).refused(&[&called]);
    }
    for within in ["e2e-lab-1", "e2e-os-velero"] {
        create(within, &[]).accepted();
    }

    an_object_in_no_namespace_is_in_no_system_namespace(namespace);

    let (success, text) = release.output("uninstall", &["--no-hooks"], &serde_json::Value::Null);
    assert!(success, "{text}");
}

/// An object without a namespace must not cause an error.
fn an_object_in_no_namespace_is_in_no_system_namespace(namespace: &Namespace<'_>) {
    let rules = json!([{ "apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"],
                         "operations": ["CREATE"], "resources": ["clusterroles"] }]);
    let add =
        |i: usize| json!({"op": "add", "path": format!("/webhooks/{i}/rules"), "value": rules});
    let patch = json!([add(1), add(2)]).to_string();
    let configuration = ["validatingwebhookconfiguration", "system-setguard"];
    let patch = ["patch", configuration[0], configuration[1], "--type=json", "--patch", &patch];
    namespace.kubectl(&patch, "").accepted();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": "system-role", "labels": { "chart": namespace.name } },
    });
    let refused = becomes("the changed rules", || namespace.dry_run(&role), |it| !it.success);
    refused.refused(&["failed calling webhook \"create.validate.system-setguard.setguard.io\""]);
}
