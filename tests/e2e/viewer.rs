//! A `setguard serve` with a view of the cluster, registered for one namespace.

use std::{fs, net::SocketAddr, path::Path};

use serde_json::json;
use tempfile::TempDir;

use crate::{Namespace, Process, becomes, certificate, free_ports, http};

/// The API groups and resources that `--inventory full` reads.
const READ: [(&str, &[&str]); 5] = [
    ("apps", &["daemonsets", "statefulsets", "deployments"]),
    ("", &["services", "namespaces", "nodes"]),
    ("policy", &["poddisruptionbudgets"]),
    ("storage.k8s.io", &["storageclasses"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
];

/// A running server with its usual times divided by 30: a watch lasts two seconds, and three seconds of silence are
/// too long.
pub(crate) struct Viewer {
    pub(crate) process: Process,
    admin: SocketAddr,
    _folder: TempDir,
}

impl Viewer {
    pub(crate) fn start(namespace: &Namespace<'_>, kubeconfig: &Path) -> Self {
        Viewer::start_with(
            namespace,
            kubeconfig,
            "apiVersion: setguard.io/v1alpha1\nkind: Policy\n",
        )
    }

    pub(crate) fn start_with(namespace: &Namespace<'_>, kubeconfig: &Path, policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let pair = certificate::write(folder.path());
        fs::write(path("policy.yaml"), policy).expect("a file");
        let [port, admin] = free_ports();
        let flag = |name: &str, value: String| format!("--{name}={value}");
        let flags = [
            "serve".to_owned(),
            flag("listen", format!("127.0.0.1:{port}")),
            flag("admin-listen", format!("127.0.0.1:{admin}")),
            flag("tls-cert", pair[0].display().to_string()),
            flag("tls-key", pair[1].display().to_string()),
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
        let url = format!("https://127.0.0.1:{port}/validate");
        let webhook = ("view.setguard.io", &*url, &*fs::read(&pair[0]).expect("a certificate"));
        let resources = ["daemonsets", "statefulsets", "statefulsets/scale"];
        namespace.register("ValidatingWebhookConfiguration", &[webhook], &resources);
        viewer
    }

    pub(crate) fn metric(&self, name: &str, kind: &str) -> Option<u64> {
        let start = format!("setguard_inventory_{name}{{kind=\"{kind}\"}} ");
        let metrics = http::get(self.admin, "/metrics");
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
    }

    pub(crate) fn knows_all(&self) {
        let ask = || http::get(self.admin, "/readyz?verbose");
        becomes("a complete view", ask, |view| view.matches(": fresh, ").count() == 9);
    }

    pub(crate) fn is(&self, kind: &str, state: &str) {
        let view = || http::get(self.admin, "/readyz?verbose");
        becomes(&format!("{kind} to be {state}"), view, |view| {
            view.starts_with("HTTP/1.1 200") && view.contains(&format!("{kind}: {state}"))
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
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": namespace.name}, "rules": rules,
    });
    namespace.apply(&role).silently();
    namespace.bind("ClusterRole", namespace.name, user);
}
