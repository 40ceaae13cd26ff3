//! A webhook that is down: the effect of `failurePolicy`, and the recovery.

use crate::prelude::*;
use crate::{Webhook, certificate, free_ports};

pub(super) const CASES: &[Case] =
    &[Case::new("a-webhook-that-is-down-is-named-and-comes-back", outage)];

const KIND: &str = "validatingwebhookconfiguration";

fn outage(namespace: &Namespace<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let [port] = free_ports();
    // To delete while the webhook is down.
    namespace.apply(&stateful_set("before")).silently();

    register_for(namespace, port, &fs::read(&certificate).expect("a certificate"));
    dry_run_becomes(namespace, false, "the webhook to be called");
    namespace.apply(&daemon_set("agent")).refused(&[
        "failed calling webhook",
        "\"create.validate.setguard.io\"",
        &format!("127.0.0.1:{port}"),
    ]);
    namespace.assert_none("daemonsets");
    let update = namespace.kubectl(&["label", "statefulset/before", "touched=yes"], "");
    update.refused(&["failed calling webhook", "\"validate.setguard.io\""]);
    namespace.kubectl(&["delete", "statefulset/before"], "").silently();

    set_failure_policy(namespace, "Ignore");
    dry_run_becomes(namespace, true, "failurePolicy Ignore");
    namespace.apply(&daemon_set("agent")).accepted();

    set_failure_policy(namespace, "Fail");
    dry_run_becomes(namespace, false, "failurePolicy Fail");
    let flags = [
        &*format!("--listen=127.0.0.1:{port}"),
        &*format!("--tls-cert={}", certificate.display()),
        &*format!("--tls-key={}", key.display()),
    ];
    let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
    let _running = Webhook::start_with(program, folder.path(), &flags);
    dry_run_becomes(namespace, true, "the webhook to be back");
    namespace.kubectl(&["delete", "daemonset/agent"], "").silently();
    namespace.apply(&daemon_set("agent")).silently();
}

fn register_for(namespace: &Namespace<'_>, port: u16, certificate: &[u8]) {
    let mut configuration = namespace.kubectl(&["get", KIND, "setguard", "-o", "json"], "").json();
    configuration["metadata"] = json!({ "name": namespace.name });
    for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
        webhook["clientConfig"] = json!({
            "url": format!("https://127.0.0.1:{port}/validate"),
            "caBundle": BASE64.encode(certificate),
        });
        webhook["namespaceSelector"] =
            json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace.name } });
    }
    namespace.apply(&configuration).silently();
}

fn set_failure_policy(namespace: &Namespace<'_>, policy: &str) {
    let webhooks = ["validate.setguard.io", "create.validate.setguard.io"]
        .map(|name| json!({ "name": name, "failurePolicy": policy }));
    let patch = json!({ "webhooks": webhooks });
    namespace.does(&format!("patch {KIND} {} --patch {patch}", namespace.name));
}

fn dry_run_becomes(namespace: &Namespace<'_>, accepted: bool, what: &str) {
    let ask = || namespace.dry_run(&daemon_set("probe"));
    becomes(what, ask, |output| output.success == accepted);
}
