//! Checks of setguard's own webhook configurations.

use rcgen::{CertificateParams, KeyPair};
use setguard::server::webhooks;
use setguard_files::report::fingerprint::digest;

use super::{COVERED, Cluster, stored};
use crate::prelude::*;

const QUIET: [&str; 2] = ["--policy", ".quiet.yaml"];

/// A CA that expires after this year, as a `caBundle`.
pub(super) fn bundle(last_year: i32) -> String {
    let mut params = CertificateParams::new([]).unwrap();
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    STANDARD.encode(made.pem())
}

fn configuration(kind: &str, last_year: i32) -> Value {
    let service = json!({ "name": "setguard", "namespace": "guards", "path": "/", "port": 443 });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": { "name": "guard" },
        "webhooks": [{
            "name": "validate.setguard.io",
            "clientConfig": { "service": service, "caBundle": bundle(last_year) },
            "rules": [{ "resources": ["daemonsets"] }],
        }],
    })
}

pub(super) fn slice(of: &str, namespace: &str, ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {
            "name": of, "namespace": namespace, "creationTimestamp": "2026-01-01T08:00:00Z",
            "labels": { "kubernetes.io/service-name": of },
        },
        "endpoints": [{ "addresses": ["10.0.0.1"], "conditions": { "ready": ready } }],
    })
}

fn cluster(configuration: &Value, slice: &Value) -> Cluster {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("daemonsets", &stored("DaemonSet", "shop", "agent"));
    cluster.has("validatingwebhookconfigurations", configuration);
    cluster.has("endpointslices", slice);
    cluster
}

fn said(configuration: &Value, slice: &Value) -> String {
    let cluster = cluster(configuration, slice);
    let report = cluster.json(1, &QUIET);
    let failures = report["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{report}");
    let code = cluster.run(&["--policy", ".quiet.yaml", "--exit-zero"]).code;
    assert_eq!(code, 0, "--exit-zero");
    failures[0].as_str().unwrap().to_owned()
}

#[test]
fn a_guard_that_does_not_guard_is_reported() {
    let kind = "ValidatingWebhookConfiguration";
    let armed = configuration(kind, 2100);
    let up = slice("setguard", "guards", true);
    let fine = cluster(&armed, &up);
    assert_eq!(fine.json(0, &QUIET)["failures"], Value::Null);

    let mut unarmed = armed.clone();
    unarmed["webhooks"][0].as_object_mut().unwrap().remove("rules");
    let why = said(&unarmed, &up);
    assert!(
        why.starts_with(&format!("{kind} guard has no rules for validate.setguard.io")),
        "{why}"
    );
    unarmed["webhooks"][0]["rules"] = json!([]);
    assert_eq!(said(&unarmed, &up), why);

    let why = said(&configuration(kind, 2020), &up);
    assert!(why.contains("the CA in") && why.contains("has expired"), "{why}");

    let mut bare = armed.clone();
    bare["webhooks"][0]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    let why = said(&bare, &up);
    assert!(why.contains("has no caBundle"), "{why}");

    let mut wanted = json!([armed["webhooks"][0], { "name": "create.validate.setguard.io" }]);
    let mut changed = armed.clone();
    changed["metadata"]["annotations"] = json!({ "setguard.io/webhooks": wanted.to_string() });
    let why = said(&changed, &up);
    let expected = format!(
        "{kind} guard is not as the chart wrote it: create.validate.setguard.io is missing"
    );
    assert!(why.starts_with(&expected), "{why}");
    wanted.as_array_mut().unwrap().pop();
    let as_written = json!({ "setguard.io/webhooks": wanted.to_string() });
    changed["metadata"]["annotations"] = as_written;
    let fine = cluster(&changed, &up);
    assert_eq!(fine.json(0, &QUIET)["failures"], Value::Null);
    changed["webhooks"][0]["rules"] = json!([{ "resources": ["pods"] }]);
    let why = said(&changed, &up);
    assert!(why.contains("has other rules for validate.setguard.io"), "{why}");

    changed["metadata"] = json!({
        "name": "guard", "labels": { "app.kubernetes.io/part-of": "setguard" },
    });
    let why = said(&changed, &up);
    assert!(
        why.starts_with(&format!("{kind} guard: it has no annotation setguard.io/webhooks")),
        "{why}"
    );

    let mut bare = armed.clone();
    let sibling = "MutatingWebhookConfiguration";
    bare["metadata"]["annotations"] = json!({ "setguard.io/sibling": sibling });
    let why = said(&bare, &up);
    assert!(why.starts_with(&format!("{sibling} guard does not exist")), "{why}");
    let both = cluster(&bare, &up);
    both.has("mutatingwebhookconfigurations", &configuration(sibling, 2100));
    assert_eq!(both.json(0, &QUIET)["failures"], Value::Null);

    for down in [slice("setguard", "guards", false), slice("another", "guards", true)] {
        let why = said(&armed, &down);
        assert!(why.starts_with("Service guards/setguard has no ready endpoint"), "{why}");
        assert!(why.contains(&format!("by {kind} guard")), "{why}");
    }
}

#[test]
fn a_server_that_no_configuration_names_is_reported() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("daemonsets", &stored("DaemonSet", "shop", "agent"));
    let labels = json!({
        "app.kubernetes.io/part-of": "setguard", "app.kubernetes.io/component": "webhook",
    });
    let metadata = json!({ "name": "guard", "namespace": "guards", "labels": labels });
    let server = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata });
    cluster.has("deployments", &server);
    let report = cluster.json(1, &QUIET);
    let why = report["failures"][0].as_str().unwrap();
    assert!(why.starts_with("Deployment guards/guard serves setguard, and neither "), "{why}");
    cluster
        .has("mutatingwebhookconfigurations", &configuration("MutatingWebhookConfiguration", 2100));
    cluster.has("endpointslices", &slice("setguard", "guards", true));
    assert_eq!(cluster.json(0, &QUIET)["failures"], Value::Null);

    // The arguments of the server say what the chart wrote.
    let mut written = configuration("MutatingWebhookConfiguration", 2100);
    let annotation = written["webhooks"].to_string();
    let args = format!("--arm-annotations=other,{}", digest(&annotation));
    let containers = json!([{ "name": "setguard", "args": ["serve", args] }]);
    let mut server = server;
    server["spec"] = json!({ "template": { "spec": { "containers": containers } } });
    cluster.has("deployments", &server);
    written["metadata"]["annotations"] = json!({ "setguard.io/webhooks": annotation });
    cluster.has("mutatingwebhookconfigurations", &written);
    assert_eq!(cluster.json(0, &QUIET)["failures"], Value::Null);
    written["webhooks"][0]["matchConditions"] = json!([{ "name": "no", "expression": "false" }]);
    let annotation = written["webhooks"].to_string();
    written["metadata"]["annotations"] = json!({ "setguard.io/webhooks": annotation });
    cluster.has("mutatingwebhookconfigurations", &written);
    let report = cluster.json(1, &QUIET);
    let why = report["failures"][0].as_str().unwrap();
    assert!(why.contains("is not the one that the chart wrote"), "{why}");
}

#[test]
fn policies_without_a_binding_are_reported() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("daemonsets", &stored("DaemonSet", "shop", "agent"));
    let object = |kind: &str, name: &str, of: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": name }, "spec": { "policyName": of },
        })
    };
    for kind in ["Validating", "Mutating"] {
        let kind = format!("{kind}AdmissionPolicy");
        let plural = kind.to_lowercase().replace("policy", "policies");
        for name in ["a.setguard.io", "b.guard.setguard.io", "c.example.com"] {
            cluster.has(&plural, &object(&kind, name, ""));
        }
        let bindings = format!("{}bindings", kind.to_lowercase());
        cluster.has(&bindings, &object(&format!("{kind}Binding"), "any", "a.setguard.io"));
        let report = cluster.json(1, &QUIET);
        let why = report["failures"][0].as_str().unwrap();
        let expected = format!(
            "{plural} have no binding, so the API server does not evaluate them: b.guard.setguard.io; "
        );
        assert!(why.starts_with(&expected), "{report}");
        cluster.has(&bindings, &object(&format!("{kind}Binding"), "b", "b.guard.setguard.io"));
        assert_eq!(cluster.json(0, &QUIET)["failures"], Value::Null);
    }
    cluster.api_server.change(|world| world.forbidden.insert("validatingadmissionpolicies"));
    let note = cluster.json(0, &QUIET)["notes"][0].to_string();
    assert!(note.contains("so whether the API server evaluates setguard's is not known"), "{note}");
}

#[test]
fn what_others_have_registered_is_left_alone() {
    let mut foreign = configuration("ValidatingWebhookConfiguration", 2020);
    foreign["webhooks"][0]["name"] = json!("validate.example.com");
    let cluster = cluster(&foreign, &slice("another", "guards", false));
    assert_eq!(cluster.json(0, &QUIET)["failures"], Value::Null);
}

#[test]
fn a_guard_that_may_not_be_seen_is_not_taken_for_one_that_works() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("daemonsets", &stored("DaemonSet", "shop", "agent"));
    let forbidden = "validatingwebhookconfigurations";
    cluster.api_server.change(|world| world.forbidden.insert(forbidden));
    let report = cluster.json(0, &QUIET);
    let note = report["notes"][0].as_str().unwrap();
    let expected = "so it can't say whether its webhooks apply";
    assert!(note.contains(forbidden) && note.contains(expected), "{note}");
    assert_eq!(cluster.run(&["--policy", ".quiet.yaml", "--strict"]).code, 2);
}

/// A manual registration has no annotation and no label, but the usual webhook names.
#[test]
fn what_serve_prints_is_recognized() {
    let printed = webhooks::printed("127.0.0.1", 8443, "PEM").unwrap();
    let names = printed.lines().filter(|line| line.trim_start().starts_with("name: "));
    let names: Vec<_> = names.filter(|line| line.contains(".setguard.io")).collect();
    assert!(names.len() >= 2, "{printed}");
}
