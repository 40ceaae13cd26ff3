//! Faults of the cluster, each reported once for all affected sets.

use super::{
    Cluster,
    guard::{bundle, slice},
    stored, unhealthy,
};
use crate::prelude::*;

const KIND: &str = "ValidatingWebhookConfiguration";

fn webhook(last_year: i32) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": KIND,
        "metadata": {"name": "gate", "creationTimestamp": "2026-01-01T08:00:00Z"},
        "webhooks": [{
            "name": "pods.gate.example.com",
            "clientConfig": {
                "service": {"name": "gate", "namespace": "gates"}, "caBundle": bundle(last_year),
            },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["pods"],
            }],
        }],
    })
}

fn cluster(last_year: i32, ready: bool) -> Cluster {
    let cluster = Cluster::audited().rules(&[], "");
    let service = json!({"kind": "Service", "apiVersion": "v1",
        "metadata": {"name": "gate", "namespace": "gates"}});
    cluster
        .has("statefulsets", &stored("StatefulSet", "shop", "db"))
        .has("services", &service)
        .has("validatingwebhookconfigurations", &webhook(last_year))
        .has("endpointslices", &slice("gate", "gates", ready));
    cluster
}

fn only(cluster: &Cluster) -> String {
    let report = cluster.json(0, &[]);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{report}");
    assert_eq!(findings[0]["object"]["kind"], KIND);
    findings[0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_webhook_that_cannot_be_called_is_reported_once() {
    let nothing: [&str; 0] = [];
    assert_eq!(cluster(2100, true).findings(0, &[]), nothing);
    let down = cluster(2100, false);
    let text = only(&down);
    assert!(text.contains("no pod of 1 StatefulSet (shop/db) can be created"), "{text}");
    assert!(down.run(&[]).stdout.contains("\n\nin no namespace\n"));
    let text = only(&cluster(2020, true));
    assert!(text.contains("has expired (2020-01-01 00:00 UTC)"), "{text}");
    let gone = Cluster::audited().rules(&[], "");
    gone.has("statefulsets", &stored("StatefulSet", "shop", "db"))
        .has("validatingwebhookconfigurations", &webhook(2100));
    let text = only(&gone);
    assert!(text.contains("Service gates/gate does not exist"), "{text}");
    // An audit of one namespace works without access to webhooks.
    assert_eq!(down.findings(0, &["-n", "shop", "--strict"]), nothing);
}

#[test]
fn limits_that_will_refuse_the_next_pod_are_reported() {
    let cluster = Cluster::audited().rules(&[], "");
    let of = |kind: &str, spec: Value| {
        json!({"apiVersion": "v1", "kind": kind, "spec": spec,
            "metadata": {"name": "team", "namespace": "shop"}})
    };
    let limits = json!({"limits": [{"type": "Pod", "max": {"memory": "1Gi"}}]});
    cluster
        .has("statefulsets", &stored("StatefulSet", "shop", "db"))
        .has("limitranges", &of("LimitRange", limits))
        .has("resourcequotas", &of("ResourceQuota", json!({"hard": {"limits.cpu": "4"}})));
    let found = cluster.run(&[]).stdout;
    assert!(found.contains("a pod has no limit of memory, and the maximum is 1Gi"), "{found}");
    assert!(found.contains("has to set limits.cpu, because the quota limits it"), "{found}");
    // The defaults of a LimitRange can be what the quota demands.
    cluster.api_server.change(|world| world.forbidden = ["limitranges"].into());
    assert_eq!(cluster.findings(0, &[]), Vec::<String>::new());
}

#[test]
fn rights_that_few_rules_need_are_not_required() {
    let cluster = cluster(2100, false);
    cluster.has("statefulsets", &unhealthy("shop", "cache"));
    cluster.api_server.change(|world| {
        world.forbidden = ["resourcequotas", "limitranges", "endpointslices"].into();
    });
    let report = cluster.json(0, &["--strict"]);
    let notes: Vec<_> = report["notes"].as_array().unwrap().iter().collect();
    let said = |what: &str| notes.iter().any(|it| it.as_str().unwrap().contains(what));
    assert!(said("can't say whether a quota refuses pods"), "{notes:?}");
    assert!(said("can't say whether limits of their namespace refuse pods"), "{notes:?}");
    assert!(said("can't say whether webhooks can be called"), "{notes:?}");
    assert_eq!(report["findings"], json!([]));
}
