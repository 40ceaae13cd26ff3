//! A different mutating webhook runs after setguard and changes the object, so the API server calls setguard a second
//! time (`reinvocationPolicy: IfNeeded`).

use crate::harness::sidecar::Sidecar;
use crate::prelude::*;

pub(super) const CASES: &[Case] =
    &[Case::new("nothing-is-injected-twice-when-called-twice", reinvocation)];

const CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";

fn reinvocation(namespace: &Namespace<'_>) {
    let sidecar = Sidecar::start();
    register(namespace, &sidecar);
    let probe = || namespace.would_store(&pod("probe"));
    becomes("the sidecar's webhook to be called", probe, |it| containers(it).len() == 2);

    let mut daemon = pod("daemon");
    daemon["metadata"]["annotations"] = json!({ "setguard.io/node": "node-a" });
    namespace.create_as(CONTROLLER, &daemon).silently();
    let stored = namespace.read("pod/daemon");

    assert_eq!(containers(&stored), ["main", "sidecar"]);
    // The sidecar's webhook replaced our affinity. The pin came back, so the API server called setguard again. The
    // other webhook's term contains the pin once.
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let os = json!({ "key": "kubernetes.io/os", "operator": "In", "values": ["linux"] });
    let pin = json!({ "key": "metadata.name", "operator": "In", "values": ["node-a"] });
    assert_eq!(
        stored.pointer(required),
        Some(&json!({ "nodeSelectorTerms": [{ "matchExpressions": [os], "matchFields": [pin] }] })),
    );
    let tolerations = stored["spec"]["tolerations"].as_array().expect("tolerations");
    for (i, toleration) in tolerations.iter().enumerate() {
        assert!(!tolerations[..i].contains(toleration), "{toleration} twice in {tolerations:?}");
    }
    assert!(tolerations.iter().any(|it| it["key"] == "node-role.kubernetes.io/control-plane"));
}

fn containers(pod: &Value) -> Vec<&str> {
    let list = pod["spec"]["containers"].as_array().expect("containers");
    list.iter().filter_map(|container| container["name"].as_str()).collect()
}

/// The API server calls configurations in name order, so this one comes after `setguard`.
fn register(namespace: &Namespace<'_>, sidecar: &Sidecar) {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": "zz-sidecar" },
        "webhooks": [{
            "name": "sidecar.example.com",
            "admissionReviewVersions": ["v1"],
            "clientConfig": { "url": sidecar.url, "caBundle": BASE64.encode(&sidecar.certificate) },
            "failurePolicy": "Fail",
            "namespaceSelector": {
                "matchLabels": { "kubernetes.io/metadata.name": namespace.name },
            },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }],
            "sideEffects": "None",
        }],
    });
    namespace.apply(&configuration).silently();
}
