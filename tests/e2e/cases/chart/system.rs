//! Namespaces by prefix and by label, and users whose writes are not validated, in the chart's match conditions.
//!
//! Nothing answers the calls, so the API server's error names the called webhook.

use super::{release::Release, unanswered};
use crate::prelude::*;

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

    release.succeeds("uninstall", &["--no-hooks"], &Value::Null);
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
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "system-role", "labels": { "chart": namespace.name } },
    });
    let refused = becomes("the changed rules", || namespace.dry_run(&role), |it| !it.success);
    refused.refused(&["failed calling webhook \"create.validate.system-setguard.setguard.io\""]);
}

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
    release.succeeds("uninstall", &["--no-hooks"], &Value::Null);
}
