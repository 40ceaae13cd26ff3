//! Users whose writes are not validated. The end-to-end tests run the expressions in an API server.

use super::{objects, render, webhooks};
use crate::helm;

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
