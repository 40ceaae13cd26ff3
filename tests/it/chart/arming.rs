//! Who writes the rules of the webhooks, and when.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{configurations, deployment, objects, of, render, webhooks};
use crate::helm;

const ANNOTATION: &str = "setguard.io/rules";
const REHEARSALS: [&str; 2] = ["rehearsal.validate.setguard.io", "rehearsal.mutate.setguard.io"];

fn args(deployment: &Value) -> Vec<&str> {
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    args.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect()
}

/// A webhook without rules matches nothing, so an installation refuses nothing.
#[test]
fn what_is_installed_matches_nothing_but_a_rehearsal() {
    let Some(helm) = helm::find() else { return };
    let installed = objects(&render(&helm, &[]));
    let at_once = objects(&render(&helm, &["--set", "webhook.arm=atOnce"]));
    let pairs = configurations(&installed).into_iter().zip(configurations(&at_once));
    for ((waiting, complete), rehearsal) in pairs.zip(REHEARSALS) {
        let annotation = waiting["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
        let rules: Value = serde_json::from_str(annotation).unwrap();
        let mut named: BTreeSet<&str> =
            rules.as_object().unwrap().keys().map(String::as_str).collect();
        for webhook in complete["webhooks"].as_array().unwrap() {
            let name = webhook["name"].as_str().unwrap();
            assert!(named.remove(name), "{name} gets no rules");
            assert_eq!(rules[name], webhook["rules"], "{name}");
        }
        assert!(named.is_empty(), "{named:?}");
        assert_eq!(complete["metadata"]["annotations"][ANNOTATION], Value::Null);

        let (own, others): (Vec<_>, Vec<_>) = waiting["webhooks"]
            .as_array()
            .unwrap()
            .iter()
            .partition(|webhook| webhook["name"] == rehearsal);
        assert!(others.iter().all(|webhook| webhook.get("rules").is_none()), "{others:#?}");
        // Patches of docs/emergency.md count from the first.
        assert_eq!(waiting["webhooks"][others.len()]["name"], rehearsal, "the last one");
        let [own] = own[..] else { panic!("one {rehearsal}") };
        assert_eq!(own["rules"][0]["resources"], json!(["selfsubjectreviews"]));
        assert_eq!(own["rules"].as_array().unwrap().len(), 1);
        let expression = "request.userInfo.username == 'system:serviceaccount:guards:setguard'";
        assert_eq!(own["matchConditions"][0]["expression"], expression);
    }
    let deployment = of(&installed, "Deployment")[0];
    let args = args(deployment);
    assert!(args.contains(&"--arm-webhooks=setguard"), "{args:?}");
    assert!(args.contains(&"--arm-owner=guards"), "{args:?}");
}

/// In each mode of certificates setguard may write what it has to, and nothing else.
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
        let owned = json!([configurations(&["get", "watch", "patch", "delete"]), owner]);
        assert_eq!(rules(&mode), owned);
        let alone = json!([configurations(&["get", "watch", "patch"])]);
        assert_eq!(rules(&format!("{mode},webhook.ownedByNamespace=false")), alone);
    }
}

/// Nobody would write the rules of a setguard without replicas.
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
