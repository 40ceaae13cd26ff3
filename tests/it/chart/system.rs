//! Namespaces by prefix and by label, and users whose writes are not validated. The end-to-end tests run the expressions
//! in an API server.

use super::{objects, render, rendered, webhooks};
use crate::prelude::*;

fn find<'a>(webhooks: &[&'a Value], name: &str) -> &'a Value {
    webhooks.iter().find(|webhook| webhook["name"] == name).unwrap()
}

fn condition<'a>(webhook: &'a Value, name: &str) -> Option<&'a str> {
    let mut conditions = webhook["matchConditions"].as_array().into_iter().flatten();
    conditions.find(|it| it["name"] == name)?["expression"].as_str()
}

/// The end-to-end tests run the expressions in an API server, and test system namespaces.
#[test]
fn excluded_prefixes_become_conditions_and_names_stay_selectors() {
    let flags = "webhook.excludedNamespaces={velero,lab-*,test-*}";
    let Some(objects) = rendered(&["--set", flags]) else { return };
    let webhooks = webhooks(&objects);
    let excluded = "!has(request.namespace) || !(request.namespace.startsWith('lab-') || \
                    request.namespace.startsWith('test-'))";
    for webhook in &webhooks {
        if webhook["name"].as_str().unwrap().starts_with("rehearsal.") {
            continue;
        }
        assert_eq!(condition(webhook, "not-in-excluded-namespaces"), Some(excluded), "{webhook}");
        let selector = webhook["namespaceSelector"]["matchExpressions"].as_array().unwrap();
        let names = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                           "values": ["guards", "velero"]});
        assert!(selector.contains(&names), "{webhook}");
    }
}

#[test]
fn labels_become_webhooks_that_exclude_each_other() {
    let labels = r#"webhook.validating.systemNamespaceLabels={"run-level": "0", "team": "core"}"#;
    let system = "webhook.validating.systemNamespaces={kube-system,openshift-*}";
    let Some(objects) = rendered(&["--set-json", labels, "--set", system]) else { return };
    let webhooks = webhooks(&objects);
    let is = |key: &str, value: &str| json!({"key": key, "operator": "In", "values": [value]});
    let not = |key: &str, value: &str| json!({"key": key, "operator": "NotIn", "values": [value]});
    let (kube, own) = (
        not("kubernetes.io/metadata.name", "kube-system"),
        not("kubernetes.io/metadata.name", "guards"),
    );
    for (name, policy, expected) in [
        ("validate", "Fail", json!([kube, not("run-level", "0"), not("team", "core"), own])),
        ("system.validate", "Ignore", json!([own])),
        ("labelled-1.system.validate", "Ignore", json!([kube, is("run-level", "0"), own])),
        (
            "labelled-2.system.validate",
            "Ignore",
            json!([kube, not("run-level", "0"), is("team", "core"), own]),
        ),
    ] {
        let webhook = find(&webhooks, &format!("{name}.setguard.io"));
        assert_eq!(webhook["failurePolicy"], policy, "{name}");
        assert_eq!(webhook["namespaceSelector"]["matchExpressions"], expected, "{name}");
        let by_name = condition(webhook, "not-in-system-namespaces").is_some();
        assert_eq!(by_name, name != "system.validate", "{name}");
    }
}

#[test]
fn exempt_users_are_conditions_of_the_webhooks_that_refuse() {
    let Some(helm) = helm::find() else { return };
    assert!(!render(&helm, &[]).contains("not-by-exempt"));
    let flags = [
        r#"webhook.validating.exemptUsers=["jane"]"#,
        r#"webhook.validating.exemptGroups=["one", "two"]"#,
        r#"webhook.validating.systemNamespaces=["kube-system", "os-*"]"#,
        r#"webhook.validating.systemNamespaceLabels={"run-level": "0"}"#,
    ];
    let flags: Vec<&str> = flags.iter().flat_map(|flag| ["--set-json", flag]).collect();
    let objects = objects(&render(&helm, &flags));
    let mut seen = 0;
    for webhook in webhooks(&objects) {
        let name = webhook["name"].as_str().unwrap();
        let conditions = webhook["matchConditions"].as_array().unwrap();
        let refuses = name.ends_with("validate.setguard.io") && !name.starts_with("rehearsal.");
        for condition in ["not-by-exempt-users", "not-by-exempt-groups"] {
            let has = conditions.iter().any(|it| it["name"] == condition);
            assert_eq!(has, refuses, "{name}: {conditions:?}");
        }
        seen += usize::from(refuses);
    }
    assert_eq!(seen, 4);
}
