//! A `setguard serve` with a view of the cluster, registered for one namespace.

use crate::harness::server::Server;
use crate::prelude::*;

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
pub(crate) struct Viewer(pub(crate) Server);

impl Viewer {
    pub(crate) fn start(namespace: &Namespace<'_>, kubeconfig: &Path) -> Self {
        let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n";
        Viewer::start_with(namespace, kubeconfig, policy)
    }

    pub(crate) fn start_with(namespace: &Namespace<'_>, kubeconfig: &Path, policy: &str) -> Self {
        let file = kubeconfig.with_file_name(format!("{}.policy.yaml", namespace.name));
        fs::write(&file, policy).expect("a file");
        let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
        let file = format!("--policy={}", file.display());
        let args = [&*file, "--inventory=full", "--inventory-speed-up=30"];
        let variables = [("KUBECONFIG", kubeconfig.as_os_str())];
        let server = Server::start(program, &args, &variables, None);
        let url = format!("https://{}/validate", server.webhook);
        let certificate = fs::read(&server.certificate).expect("a certificate");
        let webhook = ("view.setguard.io", &*url, &*certificate);
        let resources = ["daemonsets", "statefulsets", "statefulsets/scale"];
        namespace.register("ValidatingWebhookConfiguration", &[webhook], &resources);
        Viewer(server)
    }

    pub(crate) fn metric(&self, name: &str, kind: &str) -> Option<u64> {
        let start = format!("setguard_inventory_{name}{{kind=\"{kind}\"}} ");
        let metrics = http::get(self.0.admin, "/metrics");
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
    }

    pub(crate) fn knows_all(&self) {
        let ask = || http::get(self.0.admin, "/readyz?verbose");
        becomes("a complete view", ask, |view| view.matches(": fresh, ").count() == 9);
    }

    pub(crate) fn is(&self, kind: &str, state: &str) {
        let view = || http::get(self.0.admin, "/readyz?verbose");
        becomes(&format!("{kind} to be {state}"), view, |view| {
            view.starts_with("HTTP/1.1 200") && view.contains(&format!("{kind}: {state}"))
        });
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.0.process.log).expect("a log")
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
