//! The chart with admission policies instead of the server, and the way from one to the other.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};

use super::{Site, arming, everything, load::spoil, release::Release, validates, values};
use crate::{
    background::{Background, Stop},
    harness::control_plane::ControlPlane,
    harness::process::eventually,
    manifests::{daemon_set, stateful_set},
    namespace::Namespace,
};

const RULE: &str = "surge-host-port";

/// From `helm install` to `helm uninstall`: what is refused, and what is left.
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
        assert!(!success && text.contains("\"MutatingAdmissionPolicy\""), "{text}");
        values["webhook"]["mutating"] = json!({ "enabled": false });
    }
    release.run("install", &values);
    let new: Vec<_> = everything(&site.own).difference(&before).cloned().collect();
    let is_expected =
        |it: &String| it.contains("AdmissionPolicy") || it.contains("sh.helm.release");
    assert!(new.len() > 80 && new.iter().all(is_expected), "{new:?}");

    let mut surge = daemon_set("agent");
    spoil(&mut surge);
    wait(&site.shop);
    let words = "claim a port of the node, which the old pod still holds";
    let page = "(setguard: surge-host-port, https://setguard.io/rules/surge-host-port.html)";
    site.shop.apply(&surge).refused(&["surge-host-port.guard-setguard.setguard.io", words, page]);
    site.shop.assert_none("daemonsets");
    site.shop.apply(&daemon_set("agent")).silently();
    site.load.kubectl(&["create", "--dry-run=server", "-f", "-"], &surge.to_string()).silently();
    if injects {
        let mut set = daemon_set("control");
        set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
        let create = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
        let stored = site.shop.kubectl(&create, &set.to_string()).json();
        let tolerations = &stored["spec"]["template"]["spec"]["tolerations"];
        assert_eq!(tolerations[0]["key"], "node-role.kubernetes.io/control-plane", "{stored}");
    }
    release.run("test", &Value::Null);

    values["policy"] = json!({ "rules": { RULE: "warn" } });
    release.run("upgrade", &values);
    surge["metadata"]["name"] = json!("another");
    eventually("the mode to change", || {
        let output =
            site.shop.kubectl(&["create", "--dry-run=server", "-f", "-"], &surge.to_string());
        if output.success && output.stderr.contains(page) { Ok(()) } else { Err(output) }
    });
    release.run("test", &Value::Null);
    site.shop.kubectl(&["delete", "daemonset/agent"], "").silently();
    release.run("uninstall", &Value::Null);
    site.wait_until_only(&before);
}

/// From the webhook to policies and back, with both for a moment: no faulty object is accepted meanwhile, and
/// no other one refused.
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

    let writer = Writer::start(&site);
    policies.run("install", &of_policies);
    wait(&site.shop);
    server.run("uninstall", &Value::Null);
    writer.assert_all_decided();

    let writer = Writer::start(&site);
    server.run("install", &of_server);
    server.run("test", &Value::Null);
    policies.run("uninstall", &Value::Null);
    writer.assert_all_decided();
    eventually("the webhook to be alone", || {
        let output = faulty(&site.shop);
        if output.contains("ValidatingAdmissionPolicy") { Err(output) } else { Ok(()) }
    });
    validates(&site);
    server.run("uninstall", &Value::Null);
}

/// Each rule once: the exported rules by policies, and the others by the server.
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
    let text = eventually("the webhook to warn", || {
        let create = ["create", "--dry-run=server", "-f", "-"];
        let text = site.shop.kubectl(&create, &set.to_string()).accepted().stderr;
        if text.contains("Warning: template-hostname-ignored: ") { Ok(text) } else { Err(text) }
    });
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

/// Waits until a policy refuses a faulty DaemonSet.
fn wait(namespace: &Namespace<'_>) {
    eventually("the policies to be in force", || {
        let output = faulty(namespace);
        if output.contains("ValidatingAdmissionPolicy") { Ok(()) } else { Err(output) }
    });
}

/// The answer to a faulty DaemonSet.
fn faulty(namespace: &Namespace<'_>) -> String {
    let mut set = daemon_set("agent");
    spoil(&mut set);
    let create = ["create", "--dry-run=server", "-f", "-"];
    namespace.kubectl(&create, &set.to_string()).stderr
}

/// A writer of good and faulty DaemonSets in the background.
struct Writer(Background<(usize, Vec<String>)>);

impl Writer {
    fn start(site: &Site<'_>) -> Self {
        let (kubeconfig, name) = (&site.load.control_plane.kubectl.kubeconfig, site.load.name);
        Writer(Background::start(kubeconfig, move |client, stop| write(client, name, stop)))
    }

    /// Stops, and asserts that every write was decided as it should be.
    fn assert_all_decided(self) {
        let (count, wrong) = self.0.stop();
        assert!(count > 10, "only {count} writes");
        assert_eq!(wrong, [""; 0], "of {count} writes");
    }
}

/// Writes until it has to stop. Returns the number of writes, and those that were decided wrongly.
async fn write(client: Client, name: &str, stop: Stop) -> (usize, Vec<String>) {
    let sets = Api::<DaemonSet>::namespaced(client, name);
    let mut spoilt = daemon_set("agent");
    spoil(&mut spoilt);
    let typed = |set| serde_json::from_value::<DaemonSet>(set).expect("a manifest");
    let (good, bad) = (typed(daemon_set("agent")), typed(spoilt));
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let (mut count, mut wrong) = (0, Vec::new());
    while !stop.is_set() {
        count += 2;
        match sets.create(&dry, &bad).await {
            Err(kube::Error::Api(status))
                if status.message.contains("(setguard: surge-host-port") => {}
            other => wrong.push(format!("bad: {other:?}")),
        }
        if let Err(error) = sets.create(&dry, &good).await {
            wrong.push(format!("good: {error}"));
        }
    }
    (count, wrong)
}
