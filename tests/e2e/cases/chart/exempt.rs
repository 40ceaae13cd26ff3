//! Users whose writes are not validated, in the chart's match conditions.
//!
//! Nothing answers the calls, so the API server refuses a validated write.

use serde_json::{Value, json};

use super::{release::Release, unanswered};
use crate::{Namespace, becomes};

/// Characters that end or begin a text in CEL, YAML or JSON.
const HOSTILE: &str = r#"it's "a\b" <x>& {{y}} ${z}, 'u"#;

pub(super) fn users(namespace: &Namespace<'_>) {
    let control_plane = namespace.control_plane;
    Namespace::create(control_plane, "e2e-exempt");
    let release = Release::new(namespace, "exempt");
    // The API server evaluates the list for each write.
    let mut users: Vec<_> = (0..2000).map(|i| format!("user-{i}@example.com")).collect();
    users.extend([HOSTILE, "system:serviceaccount:velero:velero"].map(str::to_owned));
    let webhook = json!({ "validating": {
        "exemptUsers": users,
        "exemptGroups": [HOSTILE, "system:serviceaccounts:repair"],
    } });
    let create = unanswered(namespace, &release, webhook);
    let create = |within: &str, user: &str, groups: &[&str]| {
        let mut args = vec!["--as", user, "--as-group=system:masters"];
        args.extend(groups.iter().flat_map(|group| ["--as-group", group]));
        create(within, &args)
    };
    let jane = || create("e2e-exempt", "jane", &[]);
    becomes("the webhooks to be called", jane, |output| !output.success);
    let exempt: [(&str, &[&str]); 5] = [
        ("user-0@example.com", &[]),
        ("user-1999@example.com", &[]),
        (HOSTILE, &[]),
        ("jane", &[HOSTILE]),
        ("system:serviceaccount:repair:any", &["system:serviceaccounts:repair"]),
    ];
    let not: [(&str, &[&str]); 5] = [
        ("jane", &[]),
        ("user-0", &[]),
        ("user-0@example.com.evil", &[]),
        ("jane", &["user-0@example.com"]),
        ("system:serviceaccounts:repair", &["system:serviceaccounts"]),
    ];
    for within in ["e2e-exempt", "kube-system"] {
        for (user, groups) in exempt {
            create(within, user, groups).accepted();
        }
        for (user, groups) in not {
            create(within, user, groups).refused(&["failed calling webhook"]);
        }
    }
    let (success, text) = release.output("uninstall", &["--no-hooks"], &Value::Null);
    assert!(success, "{text}");
}
