//! The namespace of a test case in the shared control plane, and its operations.

use crate::harness::control_plane::ADMIN_TOKEN;
use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct Namespace<'a> {
    pub(crate) control_plane: &'a ControlPlane,
    pub(crate) name: &'static str,
}

impl<'a> Namespace<'a> {
    pub(crate) fn create(control_plane: &'a ControlPlane, name: &'static str) -> Self {
        control_plane.kubectl.run(&["create", "namespace", name], "").accepted();
        Namespace { control_plane, name }
    }

    pub(crate) fn kubectl(&self, args: &[&str], stdin: &str) -> Output {
        let args: Vec<&str> = args.iter().copied().chain(["--namespace", self.name]).collect();
        self.control_plane.kubectl.run(&args, stdin)
    }

    /// Runs a command whose words have no spaces, and that succeeds.
    #[track_caller]
    pub(crate) fn does(&self, command: &str) -> Output {
        self.kubectl(&words(command), "").accepted()
    }

    #[track_caller]
    pub(crate) fn merge(&self, object: &str, patch: &Value) -> Output {
        self.does(&format!("patch {object} --type=merge --patch {patch}"))
    }

    pub(crate) fn apply(&self, object: &Value) -> Output {
        self.kubectl(&["apply", "-f", "-"], &object.to_string())
    }

    /// `kubectl create --dry-run=server -f -`.
    pub(crate) fn dry_run(&self, object: &Value) -> Output {
        self.kubectl(&["create", "--dry-run=server", "-f", "-"], &object.to_string())
    }

    /// The object that a dry run would store.
    #[track_caller]
    pub(crate) fn would_store(&self, object: &Value) -> Value {
        let args = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
        self.kubectl(&args, &object.to_string()).json()
    }

    /// A kubeconfig for an administrator who impersonates this user.
    pub(crate) fn kubeconfig_as(&self, user: &str) -> PathBuf {
        let path = self.control_plane.kubeconfig(user, ADMIN_TOKEN);
        let text = fs::read_to_string(&path).expect("a kubeconfig");
        let mut config: Value = serde_json::from_str(&text).expect("JSON");
        config["users"][0]["user"]["as"] = json!(user);
        fs::write(&path, config.to_string()).expect("a kubeconfig");
        path
    }

    /// Binds a role to a user.
    pub(crate) fn bind(&self, kind: &str, name: &str, user: &str) {
        let api = "rbac.authorization.k8s.io";
        let binding = json!({
            "apiVersion": format!("{api}/v1"), "kind": format!("{kind}Binding"),
            "metadata": { "name": name },
            "roleRef": { "apiGroup": api, "kind": kind, "name": name },
            "subjects": [{ "apiGroup": api, "kind": "User", "name": user }],
        });
        self.apply(&binding).silently();
    }

    pub(crate) fn register(
        &self,
        kind: &str,
        webhooks: &[(&str, &str, &[u8])],
        resources: &[&str],
    ) {
        let webhook = |(name, url, certificate): &(&str, &str, &[u8])| {
            let mut client = json!({ "url": url });
            if !certificate.is_empty() {
                client["caBundle"] = json!(BASE64.encode(certificate));
            }
            json!({
                "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail",
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": self.name } },
                "rules": [{
                    "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": resources,
                    "operations": ["CREATE", "UPDATE"],
                }],
                "clientConfig": client,
            })
        };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": self.name },
            "webhooks": webhooks.iter().map(webhook).collect::<Vec<_>>(),
        });
        self.apply(&configuration).silently();
    }

    pub(crate) fn create_as(&self, user: &str, object: &Value) -> Output {
        self.kubectl(&["create", "-f", "-", "--as", user], &object.to_string())
    }

    #[track_caller]
    pub(crate) fn read(&self, object: &str) -> Value {
        self.kubectl(&["get", object, "-o", "json"], "").json()
    }

    #[track_caller]
    pub(crate) fn assert_none(&self, kind: &str) {
        let output = self.kubectl(&["get", kind, "-o", "name"], "").accepted();
        assert_eq!(output.stdout, "", "nothing should have been stored");
    }
}
