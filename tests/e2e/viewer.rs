//! A `setguard serve` with a view of the cluster, registered for one namespace.

use std::{fs, net::SocketAddr, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    harness::process::{Process, eventually, free_ports},
    http,
    namespace::Namespace,
};

/// The API groups and resources that `--inventory full` reads.
const READ: [(&str, &[&str]); 5] = [
    ("apps", &["daemonsets", "statefulsets", "deployments"]),
    ("", &["services", "namespaces", "nodes"]),
    ("policy", &["poddisruptionbudgets"]),
    ("storage.k8s.io", &["storageclasses"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
];

/// A running server. A watch of it lasts two seconds, and three seconds of silence are too long: the
/// usual times, divided by 30.
pub(crate) struct Viewer {
    pub(crate) process: Process,
    admin: SocketAddr,
    _folder: TempDir,
}

impl Viewer {
    /// Starts it, registers it for this namespace, and waits until the API server calls it.
    pub(crate) fn start(namespace: &Namespace<'_>, kubeconfig: &Path) -> Self {
        Viewer::start_with(
            namespace,
            kubeconfig,
            "apiVersion: setguard.io/v1alpha1\nkind: Policy\n",
        )
    }

    /// Starts it with a policy.
    pub(crate) fn start_with(namespace: &Namespace<'_>, kubeconfig: &Path, policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let pair =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        fs::write(path("tls.crt"), pair.cert.pem()).expect("a file");
        fs::write(path("tls.key"), pair.signing_key.serialize_pem()).expect("a file");
        fs::write(path("policy.yaml"), policy).expect("a file");
        let [port, admin] = free_ports();
        let flag = |name: &str, value: String| format!("--{name}={value}");
        let flags = [
            "serve".to_owned(),
            flag("listen", format!("127.0.0.1:{port}")),
            flag("admin-listen", format!("127.0.0.1:{admin}")),
            flag("tls-cert", path("tls.crt").display().to_string()),
            flag("tls-key", path("tls.key").display().to_string()),
            flag("policy", path("policy.yaml").display().to_string()),
            flag("inventory", "full".to_owned()),
            flag("inventory-speed-up", "30".to_owned()),
        ];
        let process = Process::start_with(
            Path::new(env!("CARGO_BIN_EXE_setguard")),
            &flags.each_ref().map(String::as_str),
            &[("KUBECONFIG", kubeconfig.as_os_str())],
            folder.path(),
        );
        let admin = SocketAddr::from(([127, 0, 0, 1], admin));
        let mut viewer = Viewer { process, admin, _folder: folder };
        viewer.process.wait_until("setguard to be ready", || {
            http::get(admin, "/readyz").starts_with("HTTP/1.1 200").then_some(())
        });
        register(namespace, port, &pair.cert.pem());
        viewer
    }

    /// A metric of the view for a kind.
    pub(crate) fn metric(&self, name: &str, kind: &str) -> Option<u64> {
        let start = format!("setguard_inventory_{name}{{kind=\"{kind}\"}} ");
        let metrics = http::get(self.admin, "/metrics");
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
    }

    /// Waits until all kinds are known.
    pub(crate) fn knows_all(&self) {
        eventually("a complete view", || {
            let view = http::get(self.admin, "/readyz?verbose");
            if view.matches(": fresh, ").count() == 9 { Ok(()) } else { Err(view) }
        });
    }

    /// Waits until a kind is fresh, stale or unknown.
    pub(crate) fn is(&self, kind: &str, state: &str) {
        eventually(&format!("{kind} to be {state}"), || {
            let view = http::get(self.admin, "/readyz?verbose");
            let ready = view.starts_with("HTTP/1.1 200");
            if ready && view.contains(&format!("{kind}: {state}")) { Ok(()) } else { Err(view) }
        });
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.process.log).expect("a log")
    }
}

/// Lets setguard read the kinds of the view, without these resources.
pub(crate) fn allow(namespace: &Namespace<'_>, user: &str, without: &[&str]) {
    let rules = READ.map(|(group, resources)| {
        let resources: Vec<_> = resources.iter().filter(|it| !without.contains(it)).collect();
        json!({"apiGroups": [group], "resources": resources, "verbs": ["list", "watch"]})
    });
    let rules: Vec<_> = rules
        .into_iter()
        .filter(|rule| rule["resources"].as_array().is_some_and(|all| !all.is_empty()))
        .collect();
    let api = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRole",
        "metadata": {"name": namespace.name}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace.name},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": namespace.name},
        "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
    });
    namespace.apply(&role).silently();
    namespace.apply(&binding).silently();
}

fn register(namespace: &Namespace<'_>, port: u16, certificate: &str) {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace.name},
        "webhooks": [{
            "name": "view.setguard.io",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "namespaceSelector":
                {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
            "rules": [{
                "apiGroups": ["apps"],
                "apiVersions": ["v1"],
                "resources": ["daemonsets", "statefulsets", "statefulsets/scale"],
                "operations": ["CREATE", "UPDATE"],
            }],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/validate"),
                "caBundle": BASE64.encode(certificate),
            },
        }],
    });
    namespace.apply(&configuration).silently();
}
