//! Other admission webhooks to compare with, such as Gatekeeper and Kyverno, if there are any.
//!
//! They need custom resources, certificates and rules of their own, which differ from release to
//! release. So the environment variables [`VARIABLES`] name a program for each, usually a script. It
//! is started with `KUBECONFIG` and prepares the cluster, starts the webhook and registers it, with
//! rules of which one denies a DaemonSet with the name `bad`, and runs until it is killed.

use std::{env, path::Path};

use crate::harness::{
    control_plane::{ADMIN_TOKEN, ControlPlane},
    process::{Process, eventually},
};

const VARIABLES: [(&str, &str); 2] = [("Gatekeeper", "GATEKEEPER"), ("Kyverno", "KYVERNO")];

/// A running webhook of somebody else, which is registered only while it is measured.
pub(crate) struct External {
    pub(crate) name: String,
    /// Its validating webhook configuration, as JSON.
    pub(crate) configurations: Vec<String>,
    _process: Process,
}

impl External {
    /// Starts those that the environment names, one after the other.
    pub(crate) fn start_all(control_plane: &ControlPlane) -> Vec<External> {
        let named = VARIABLES.iter().filter_map(|(name, variable)| {
            let program = env::var_os(variable);
            if program.is_none() {
                println!("{name}: skipped, {variable} is not set");
            }
            Some((*name, program?))
        });
        named.map(|(name, program)| start(control_plane, name, Path::new(&program))).collect()
    }
}

fn start(control_plane: &ControlPlane, name: &str, program: &Path) -> External {
    let logs = control_plane.folder().join(name);
    std::fs::create_dir(&logs).expect("a folder");
    let kubeconfig = control_plane.kubeconfig(name, ADMIN_TOKEN);
    let variables = [("KUBECONFIG", kubeconfig.as_os_str())];
    let process = Process::start_with(program, &[], &variables, &logs);
    let kubectl = &control_plane.kubectl;
    let kind = "validatingwebhookconfigurations";
    let configuration = eventually(&format!("{name} to be registered"), || {
        let args = ["create", "--dry-run=server", "-f", "-"];
        let output = kubectl.run(&args, BAD);
        if output.success { Err(output) } else { Ok(kubectl.run(&["get", kind, "-o", "json"], "")) }
    });
    let mut list = configuration.json();
    let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let configurations = items.into_iter().map(|mut item| {
        for server_made in ["resourceVersion", "uid", "creationTimestamp", "managedFields"] {
            item["metadata"].as_object_mut().expect("metadata").remove(server_made);
        }
        item.to_string()
    });
    let configurations = configurations.collect();
    kubectl.run(&["delete", kind, "--all"], "").accepted();
    External { name: name.to_owned(), configurations, _process: process }
}

const BAD: &str = r#"{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "bad", "namespace": "default"},
"spec": {"selector": {"matchLabels": {"app": "load"}}, "template": {"metadata": {"labels": {"app": "load"}},
"spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}}}"#;
