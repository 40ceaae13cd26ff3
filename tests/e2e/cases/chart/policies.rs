//! The chart with admission policies instead of the server, and the migration between the two.

use super::{Site, arming, everything, guarded::Pairs, release::Release, validates, values};
use crate::prelude::*;

const RULE: &str = "surge-host-port";

/// From `helm install` to `helm uninstall`: the refused objects, and the remaining ones.
pub(super) fn alone(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let before = everything(&site.own);
    let release = Release::new(&site.own, "guard");
    let injects = control_plane.minor() >= 36;
    let mut values = json!({
        "mode": "policies",
        "webhook": { "excludedNamespaces": ["load"] },
        "policy": { "rules": { "grace-period-zero": "deny" } },
    });
    if !injects {
        let (success, text) = release.output("install", &[], &values);
        let reason = "injection without a server needs Kubernetes 1.36";
        assert!(!success && text.contains(reason), "{text}");
        values["webhook"]["mutating"] = json!({ "enabled": false });
    }
    release.run("install", &values);
    let new: Vec<_> = everything(&site.own).difference(&before).cloned().collect();
    let is_expected =
        |it: &String| it.contains("AdmissionPolicy") || it.contains("sh.helm.release");
    assert!(new.len() > 80 && new.iter().all(is_expected), "{new:?}");

    let mut surge = surging("agent");
    wait(&site.shop);
    let words = "claim a port of the node, which the old pod still holds";
    let page = "(setguard: surge-host-port, https://setguard.io/rules/surge-host-port.html)";
    site.shop.apply(&surge).refused(&["surge-host-port.guard-setguard.setguard.io", words, page]);
    site.shop.assert_none("daemonsets");
    site.shop.apply(&daemon_set("agent")).silently();
    site.load.dry_run(&surge).silently();
    if injects {
        let mut set = daemon_set("control");
        set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
        let stored = site.shop.would_store(&set);
        let tolerations = &stored["spec"]["template"]["spec"]["tolerations"];
        assert_eq!(tolerations[0]["key"], "node-role.kubernetes.io/control-plane", "{stored}");
    }
    release.run("test", &Value::Null);

    values["policy"] = json!({ "rules": { RULE: "warn" } });
    release.run("upgrade", &values);
    surge["metadata"]["name"] = json!("another");
    let ask = || site.shop.dry_run(&surge);
    becomes("the mode to change", ask, |output| output.success && output.stderr.contains(page));
    release.run("test", &Value::Null);
    site.shop.kubectl(&["delete", "daemonset/agent"], "").silently();
    release.run("uninstall", &Value::Null);
    site.wait_until_only(&before);
}

/// From the webhook to policies and back, with both for a moment: meanwhile, no faulty object is accepted, and no good
/// one refused.
pub(super) fn there_and_back(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let (server, policies) = (Release::new(&site.own, "guard"), Release::new(&site.shop, "rules"));
    let of_server = values(&site.url);
    let mut of_policies = json!({ "mode": "policies" });
    if control_plane.minor() < 36 {
        of_policies["webhook"] = json!({ "mutating": { "enabled": false } });
    }
    server.run("install", &of_server);
    arming::wait(&site.shop);
    validates(&site);

    let pairs = Pairs::start(&site);
    policies.run("install", &of_policies);
    wait(&site.shop);
    server.run("uninstall", &Value::Null);
    pairs.end("policies instead of the server").assert_all_refused();

    let pairs = Pairs::start(&site);
    server.run("install", &of_server);
    server.run("test", &Value::Null);
    policies.run("uninstall", &Value::Null);
    pairs.end("the server instead of policies").assert_all_refused();
    let ask = || faulty(&site.shop);
    becomes("the webhook to be alone", ask, |output| !output.contains("ValidatingAdmissionPolicy"));
    validates(&site);
    server.run("uninstall", &Value::Null);
}

/// Each rule once: policies report the exported rules, and the server reports the others.
pub(super) fn both(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let before = everything(&site.own);
    let release = Release::new(&site.own, "guard");
    let mut of_both = values(&site.url);
    of_both["mode"] = json!("both");
    release.run("install", &of_both);
    wait(&site.shop);
    // A policy reports the first fault, and the webhook the other one.
    let mut set = stateful_set("db");
    let pod = &mut set["spec"]["template"]["spec"];
    pod["terminationGracePeriodSeconds"] = json!(0);
    pod["hostname"] = json!("db");
    let text = becomes(
        "the webhook to warn",
        || site.shop.dry_run(&set).accepted().stderr,
        |text| text.contains("Warning: template-hostname-ignored: "),
    );
    for (report, times) in [
        ("ValidatingAdmissionPolicy 'grace-period-zero.guard-setguard.setguard.io'", 1),
        ("Warning: grace-period-zero: ", 0),
        ("ValidatingAdmissionPolicy 'template-hostname-ignored.guard-setguard.setguard.io'", 0),
        ("Warning: template-hostname-ignored: ", 1),
    ] {
        assert_eq!(text.matches(report).count(), times, "{report} {text}");
    }
    let long = stateful_set(&"a".repeat(57));
    site.shop.apply(&long).refused(&["setguard: name-too-long"]);
    release.run("test", &Value::Null);
    release.run("uninstall", &Value::Null);
    site.wait_until_only(&before);
}

fn wait(namespace: &Namespace<'_>) {
    becomes(
        "the policies to be in force",
        || faulty(namespace),
        |output| output.contains("ValidatingAdmissionPolicy"),
    );
}

fn faulty(namespace: &Namespace<'_>) -> String {
    namespace.dry_run(&surging("agent")).stderr
}
