//! When and how the rules of the webhooks are written.

use serde_json::{Value, json};
use setguard_files::report::fingerprint::digest;

use super::{configurations, deployment, objects, of, render, rendered, webhooks};
use crate::helm;

const ANNOTATION: &str = "setguard.io/webhooks";
const REHEARSALS: [&str; 2] = ["rehearsal.validate.setguard.io", "rehearsal.mutate.setguard.io"];

fn args(deployment: &Value) -> Vec<&str> {
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    args.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect()
}

/// A webhook without rules matches nothing, so an installation refuses nothing. The annotation holds the rules.
#[test]
fn what_is_installed_matches_nothing_but_a_rehearsal() {
    let Some(helm) = helm::find() else { return };
    let installed = objects(&render(&helm, &[]));
    let at_once = objects(&render(&helm, &["--set", "webhook.arm=atOnce"]));
    let pairs = configurations(&installed).into_iter().zip(configurations(&at_once));
    for ((waiting, complete), rehearsal) in pairs.zip(REHEARSALS) {
        let annotation = waiting["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
        let mut wanted: Value = serde_json::from_str(annotation).unwrap();
        // The webhooks equal the annotation without rules, except for the rehearsal.
        let has_rules = |it: &Value| it["name"] == rehearsal;
        let installed = waiting["webhooks"].as_array().unwrap();
        assert!(installed.iter().all(|it| it.get("rules").is_some() == has_rules(it)));
        let mut armed = installed.clone();
        for (i, webhook) in armed.iter_mut().enumerate() {
            webhook["rules"] = wanted[i]["rules"].clone();
        }
        assert_eq!(json!(armed), wanted);
        // With atOnce, the webhooks equal the annotation, with their rules.
        wanted.as_array_mut().unwrap().retain(|it| !has_rules(it));
        assert_eq!(complete["webhooks"], wanted);
        let annotation = complete["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(annotation).unwrap(), wanted);

        let (one, other) = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration");
        let sibling = if waiting["kind"] == one { other } else { one };
        assert_eq!(waiting["metadata"]["annotations"]["setguard.io/sibling"], sibling);

        // Patches in docs/troubleshooting.md use indices from the first webhook.
        let (own, others) = installed.split_last().unwrap();
        assert_eq!(own["name"], rehearsal, "the last one");
        assert!(!others.iter().any(has_rules), "one {rehearsal}");
        let rules = json!([{
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["UPDATE"],
            "resources": ["configmaps"],
            "scope": "Namespaced",
        }]);
        assert_eq!(own["rules"], rules);
        let only = |labels: Value| json!({ "matchLabels": labels });
        let namespace = only(json!({ "kubernetes.io/metadata.name": "guards" }));
        assert_eq!(own["namespaceSelector"], namespace, "although the others exclude it");
        assert_eq!(own["objectSelector"], only(json!({ "setguard.io/rehearsal": "true" })));
        let expression = "request.userInfo.username == 'system:serviceaccount:guards:setguard'";
        assert_eq!(own["matchConditions"][0]["expression"], expression);
    }
    let deployment = of(&installed, "Deployment")[0];
    let args = args(deployment);
    assert!(args.contains(&"--arm-webhooks=setguard"), "{args:?}");
    assert!(args.contains(&"--arm-owner=guards"), "{args:?}");
    assert!(args.contains(&"--arm-rehearsal=guards/setguard-rehearsal"), "{args:?}");
    let hash = |kind: &str| {
        let annotation = of(&installed, kind)[0]["metadata"]["annotations"][ANNOTATION].as_str();
        digest(annotation.unwrap())
    };
    let hashes =
        ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"].map(hash).join(",");
    assert!(args.contains(&&*format!("--arm-annotations={hashes}")), "{args:?}");
    for kind in ["Pod", "Job"] {
        let probes = of(&installed, kind);
        let probe = probes.iter().find(|it| it.to_string().contains("\"probe\"")).unwrap();
        assert!(probe.to_string().contains(&format!("\"--annotations={hashes}\"")), "{probe}");
    }
}

#[test]
fn arming_needs_rights_to_three_objects_by_name() {
    let Some(helm) = helm::find() else { return };
    let rules = |flags: &str| {
        let flags = ["--set", flags, "-s", "templates/rbac.yaml"];
        of(&objects(&render(&helm, &flags)), "ClusterRole")[0]["rules"].clone()
    };
    let configurations = |verbs: &[&str]| {
        json!({
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
            "resourceNames": ["setguard"],
            "verbs": verbs,
        })
    };
    let owner = json!({
        "apiGroups": [""],
        "resources": ["namespaces"],
        "resourceNames": ["guards"],
        "verbs": ["get"],
    });
    for mode in ["managed", "certManager"] {
        let mode = format!("tls.mode={mode}");
        let few = configurations(&["get", "watch", "patch"]);
        assert_eq!(rules(&mode), json!([few, owner]));
        // Only for API servers that require it.
        let more = configurations(&["get", "watch", "patch", "delete"]);
        let mode = format!("{mode},webhook.ownerNeedsDelete=true");
        assert_eq!(rules(&mode), json!([more, owner]));
        assert_eq!(rules(&format!("{mode},webhook.ownedByNamespace=false")), json!([few]));
    }
}

/// With rules in the chart, setguard and its test still compare, if they have the rights of managed certificates.
#[test]
fn at_once_is_compared_too() {
    let alerts = "webhook.arm=atOnce,metrics.prometheusRule.enabled=true";
    for (mode, compares) in [("managed", true), ("certManager", false)] {
        let flags = format!("{alerts},tls.mode={mode}");
        let Some(objects) = rendered(&["--set", &flags]) else { return };
        let server = &of(&objects, "Deployment")[0]["spec"]["template"]["spec"];
        let test = &of(&objects, "Pod")[0]["spec"];
        let compared =
            ["--arm-webhooks=setguard", "--arm-compare-only", "--validating-config=setguard"];
        let is_there = |it: &str| format!("{server}{test}").contains(&format!("\"{it}\""));
        assert_eq!(compared.map(is_there), [compares; 3], "{mode}");
        assert_eq!(test["automountServiceAccountToken"], compares);
        assert!(!format!("{server}{test}").contains("rehearsal"));
        let rules = of(&objects, "PrometheusRule")[0].to_string();
        let alerts = ["NotArmed", "WebhooksForeign", "WebhooksFought", "NotCalled"];
        let alerts = alerts.map(|it| rules.contains(&format!("\"Setguard{it}\"")));
        assert_eq!(alerts, [compares, compares, compares, false], "{mode}");
    }
}

/// The right to patch the ConfigMap stores nothing, and permits nothing else.
#[test]
fn the_object_of_the_rehearsal_holds_nothing() {
    let Some(helm) = helm::find() else { return };
    let file = ["-s", "templates/rehearsal.yaml"];
    let rendered = objects(&render(&helm, &file));
    let map = of(&rendered, "ConfigMap")[0];
    assert_eq!(map["metadata"]["name"], "setguard-rehearsal");
    assert_eq!(map["metadata"]["namespace"], "guards");
    assert_eq!(map["metadata"]["labels"]["setguard.io/rehearsal"], "true");
    assert_eq!(map["immutable"], true);
    assert_eq!((map.get("data"), map.get("binaryData")), (None, None));
    let rules = json!([{
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["setguard-rehearsal"],
        "verbs": ["patch"],
    }]);
    assert_eq!(of(&rendered, "Role")[0]["rules"], rules);
    let without = objects(&render(&helm, &["--set", "rbac.create=false", file[0], file[1]]));
    assert_eq!(without.len(), 1, "the ConfigMap alone: {without:#?}");
    let at_once = objects(&render(&helm, &["--set", "webhook.arm=atOnce"]));
    assert!(!at_once.iter().any(|it| it["metadata"]["name"] == "setguard-rehearsal"));
}

/// Without replicas, no setguard could write the rules.
#[test]
fn without_replicas_the_rules_are_in_the_chart() {
    let Some(helm) = helm::find() else { return };
    let objects = objects(&render(&helm, &["--set", "replicaCount=0"]));
    for webhook in webhooks(&objects) {
        assert!(webhook["rules"].is_array(), "{webhook}");
    }
    let deployment = deployment(&helm, &["--set", "replicaCount=0"]);
    assert!(!args(&deployment).iter().any(|arg| arg.starts_with("--arm-")));
}
