//! A webhook that is down: the effect of `failurePolicy`, and its recovery.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use super::Case;
use crate::{
    harness::{
        process::{eventually, free_ports},
        webhook::Webhook,
    },
    manifests::{daemon_set, stateful_set},
    namespace::Namespace,
};

pub(super) const CASES: &[Case] =
    &[Case::new("a-webhook-that-is-down-is-named-and-comes-back", outage)];

const KIND: &str = "validatingwebhookconfiguration";

fn outage(namespace: &Namespace<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    fs::write(path("tls.crt"), pair.cert.pem()).expect("a file");
    fs::write(path("tls.key"), pair.signing_key.serialize_pem()).expect("a file");
    let [port] = free_ports();
    // To be deleted while the webhook is down.
    namespace.apply(&stateful_set("before")).silently();

    let name = register_for(namespace, port, &pair.cert.pem());
    eventually("the webhook to be called", || dry_run_is(namespace, false));
    namespace.apply(&daemon_set("agent")).refused(&[
        "failed calling webhook",
        &format!("\"{name}\""),
        &format!("127.0.0.1:{port}"),
    ]);
    namespace.assert_none("daemonsets");
    namespace.kubectl(&["delete", "statefulset/before"], "").silently();

    set_failure_policy(namespace, "Ignore");
    eventually("failurePolicy Ignore", || dry_run_is(namespace, true));
    namespace.apply(&daemon_set("agent")).accepted();

    set_failure_policy(namespace, "Fail");
    eventually("failurePolicy Fail", || dry_run_is(namespace, false));
    let flags = [
        &*format!("--listen=127.0.0.1:{port}"),
        &*format!("--tls-cert={}", path("tls.crt")),
        &*format!("--tls-key={}", path("tls.key")),
    ];
    let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
    let _running = Webhook::start_with(program, folder.path(), &flags);
    eventually("the webhook to be back", || dry_run_is(namespace, true));
    namespace.kubectl(&["delete", "daemonset/agent"], "").silently();
    namespace.apply(&daemon_set("agent")).silently();
}

/// Registers a second webhook for this namespace only, like the shared one except for its address.
/// Returns its name.
fn register_for(namespace: &Namespace<'_>, port: u16, certificate: &str) -> String {
    let list = namespace.kubectl(&["get", KIND, "-o", "json"], "").json();
    let mut configuration = list["items"][0].clone();
    configuration["metadata"] = json!({ "name": namespace.name });
    let mut webhooks = configuration["webhooks"].take();
    webhooks.as_array_mut().expect("webhooks").truncate(1);
    webhooks[0]["clientConfig"] = json!({
        "url": format!("https://127.0.0.1:{port}/validate"),
        "caBundle": BASE64.encode(certificate),
    });
    webhooks[0]["namespaceSelector"] =
        json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace.name } });
    let name = webhooks[0]["name"].as_str().expect("a name").to_owned();
    configuration["webhooks"] = webhooks;
    namespace.apply(&configuration).silently();
    name
}

fn set_failure_policy(namespace: &Namespace<'_>, policy: &str) {
    let patch: Value =
        json!([{ "op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy }]);
    let args = ["patch", KIND, namespace.name, "--type=json", "--patch", &patch.to_string()];
    namespace.kubectl(&args, "").accepted();
}

fn dry_run_is(namespace: &Namespace<'_>, accepted: bool) -> Result<(), impl std::fmt::Display> {
    let args = ["create", "--dry-run=server", "-f", "-"];
    let output = namespace.kubectl(&args, &daemon_set("probe").to_string());
    if output.success == accepted { Ok(()) } else { Err(output) }
}
