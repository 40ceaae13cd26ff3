//! Users whose writes are not validated.

use serde_json::{Value, json};

use super::{objects, refuses, render, webhooks};
use crate::helm;

/// The end-to-end tests see what the API server makes of the expressions.
#[test]
fn exempt_users_are_conditions_of_the_webhooks_that_refuse() {
    let Some(helm) = helm::find() else { return };
    let users = json!(["it's", "\"quoted\"", "back\\slash", "é<&>"]);
    let flags = [
        &*format!("webhook.validating.exemptUsers={users}"),
        r#"webhook.validating.exemptGroups=["one", "two"]"#,
        r#"webhook.validating.systemNamespaces=["kube-system", "os-*"]"#,
        r#"webhook.validating.systemNamespaceLabels={"run-level": "0"}"#,
    ];
    let flags: Vec<&str> = flags.iter().flat_map(|flag| ["--set-json", flag]).collect();
    let objects = objects(&render(&helm, &flags));
    let users = json!({
        "name": "not-by-exempt-users",
        "expression": "!has(request.userInfo.username) || !(request.userInfo.username in \
                       [\"it's\",\"\\\"quoted\\\"\",\"back\\\\slash\",\"é\\u003c\\u0026\\u003e\"])",
    });
    let groups = json!({
        "name": "not-by-exempt-groups",
        "expression": "!has(request.userInfo.groups) || \
                       !request.userInfo.groups.exists(group, group in [\"one\",\"two\"])",
    });
    let mut seen = 0;
    for webhook in webhooks(&objects) {
        let name = webhook["name"].as_str().unwrap();
        let conditions = webhook["matchConditions"].as_array().unwrap();
        let refuses = name.ends_with("validate.setguard.io") && !name.starts_with("rehearsal.");
        for condition in [&users, &groups] {
            assert_eq!(conditions.contains(condition), refuses, "{name}: {conditions:?}");
        }
        seen += usize::from(refuses);
    }
    assert_eq!(seen, 4);
}

#[test]
fn without_exempt_users_there_is_no_condition() {
    let Some(helm) = helm::find() else { return };
    assert!(!render(&helm, &[]).contains("not-by-exempt"));
}

#[test]
fn not_everybody_can_be_exempt() {
    let Some(helm) = helm::find() else { return };
    for (field, name, message) in [
        ("exemptGroups", "system:authenticated", "set webhook.validating.enabled=false"),
        ("exemptUsers", "", "exemptUsers"),
    ] {
        let flag = format!("webhook.validating.{field}={}", Value::from(vec![name]));
        refuses(&helm, &["--set-json", &flag], message);
    }
}
