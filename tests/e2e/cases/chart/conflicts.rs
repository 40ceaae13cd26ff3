//! Upgrades after a different client has changed the chart's objects.
//!
//! Helm 4 uses server-side apply, so such a field is a conflict. Helm 3 overwrites the field.

use super::release::Release;
use crate::prelude::*;

const CONFIGURATION: &str = "validatingwebhookconfiguration/taken-setguard";
const DEPLOYMENT: &str = "deployment/taken-setguard";
const SECRET: &str = "secret/taken-setguard-tls";

pub(super) fn upgrades(namespace: &Namespace<'_>) {
    let release = Release::new(namespace, "taken");
    let mut values = json!({
        "webhook": {
            // No pods run.
            "installCheck": { "enabled": false },
            // No namespace has this label: the other cases must not notice the webhooks.
            "namespaceSelector": { "matchLabels": { "chart": "conflicts" } },
            "validating": { "failurePolicy": "Ignore" },
        },
    });
    let helm =
        |command: &str, flags: &[&str], values: &Value| release.succeeds(command, flags, values);
    helm("install", &[], &values);
    // A different client's change to an object, and the field that shows it.
    for line in include_str!("../../../fixtures/chart/foreign.jsonl").lines() {
        let (what, object, pointer, command): (&str, &str, &str, Vec<String>) =
            serde_json::from_str(line).expect("JSON");
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let read = || namespace.read(object).pointer(pointer).cloned();
        let ours = read();
        namespace.kubectl(&command, "").accepted();
        assert_ne!(read(), ours, "{what} changes something");
        if release.sees_conflicts() {
            let (success, text) = release.output("upgrade", &[], &values);
            assert!(!success && text.contains("conflict"), "after {what}: {text}");
            helm("upgrade", &["--force-conflicts"], &values);
        } else {
            helm("upgrade", &[], &values);
        }
        assert_eq!(read(), ours, "after {what}");
        // Helm owns the field again.
        helm("upgrade", &[], &values);
    }

    again(namespace, &release, &values);

    // setguard's fields cause no conflict, and stay.
    arm(namespace, CONFIGURATION);
    helm("upgrade", &[], &values);
    assert_armed(namespace, CONFIGURATION);
    let revision = ["rollback", "--no-hooks"];
    helm(revision[0], &revision[1..], &Value::Null);
    assert_armed(namespace, CONFIGURATION);
    helm("upgrade", &[], &values);
    let stored = namespace.read(CONFIGURATION);
    assert_eq!(stored["metadata"]["labels"]["admissions.enforcer/disabled"], "true");

    // A replica count set by an autoscaler causes no conflict either, if the chart omits the field. Helm 3 removes the
    // field when the chart first omits it, and the default is 1.
    values["replicaCount"] = Value::Null;
    let scale = || namespace.kubectl(&["scale", DEPLOYMENT, "--replicas=3"], "").accepted();
    let replicas = || namespace.read(DEPLOYMENT)["spec"]["replicas"].clone();
    scale();
    helm("upgrade", &[], &values);
    assert_eq!(replicas(), if release.sees_conflicts() { 3 } else { 1 });
    scale();
    helm("upgrade", &[], &values);
    assert_eq!(replicas(), 3);
    helm("uninstall", &["--no-hooks"], &Value::Null);
    applied(namespace, &release, &values);
}

/// docs/troubleshooting.md deletes objects and scales to 0. A rollback to the current revision restores them all
/// without the chart, and so does an upgrade; scaling to 0 is no conflict.
fn again(namespace: &Namespace<'_>, release: &Release<'_>, values: &Value) {
    let configurations = ["delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration"];
    let restored = [CONFIGURATION, "mutatingwebhookconfiguration/taken-setguard", SECRET];
    for with_chart in [true, false] {
        namespace.kubectl(&[&configurations[..], &["taken-setguard"]].concat(), "").accepted();
        namespace.kubectl(&["scale", DEPLOYMENT, "--replicas=0"], "").accepted();
        namespace.kubectl(&["delete", SECRET], "").accepted();
        let (success, text) = if with_chart {
            release.output("upgrade", &[], values)
        } else {
            let selector = "owner=helm,name=taken,status=deployed";
            let version = "jsonpath={.items[0].metadata.labels.version}";
            let get = ["get", "secrets", "--selector", selector, "-o", version];
            let revision = namespace.kubectl(&get, "").accepted().stdout;
            release.output("rollback", &[&revision], &Value::Null)
        };
        assert!(success, "{text}");
        for object in restored {
            namespace.read(object);
        }
        assert_eq!(namespace.read(DEPLOYMENT)["spec"]["replicas"], 2);
    }
}

/// Writes to a configuration as setguard does.
fn arm(namespace: &Namespace<'_>, configuration: &str) {
    let wanted =
        namespace.read(configuration)["metadata"]["annotations"]["setguard.io/webhooks"].take();
    let wanted: Value = serde_json::from_str(wanted.as_str().expect("JSON")).expect("JSON");
    let patch = json!([
        { "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "Y2E=" },
        { "op": "add", "path": "/webhooks/0/rules", "value": wanted[0]["rules"] },
    ]);
    let patch = format!("--patch={patch}");
    let patch = ["patch", configuration, "--field-manager=setguard", "--type=json", &patch];
    namespace.kubectl(&patch, "").accepted();
}

fn assert_armed(namespace: &Namespace<'_>, configuration: &str) {
    let stored = namespace.read(configuration);
    let webhook = &stored["webhooks"][0];
    assert_eq!(webhook["clientConfig"]["caBundle"], "Y2E=");
    assert!(webhook["rules"].as_array().is_some_and(|rules| rules.len() > 3), "{webhook:#}");
}

/// Checks the tools that render the chart and apply the result, client-side or server-side.
fn applied(namespace: &Namespace<'_>, release: &Release<'_>, values: &Value) {
    // A custom build of Helm may assume an old release.
    let flags = ["--kube-version=1.36", "--show-only=templates/validating-webhook.yaml"];
    let text = release.succeeds("template", &flags, values);
    for flags in [&[][..], &["--server-side"]] {
        let apply = || {
            let args = [&["apply", "-f", "-"], flags].concat();
            namespace.kubectl(&args, &text).accepted();
        };
        apply();
        arm(namespace, CONFIGURATION);
        apply();
        assert_armed(namespace, CONFIGURATION);
        namespace.kubectl(&["delete", CONFIGURATION], "").accepted();
    }
}
