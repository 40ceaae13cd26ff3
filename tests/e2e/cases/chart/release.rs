//! A Helm release of the chart.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::{helm, namespace::Namespace};

/// A release in a namespace.
pub(super) struct Release<'a> {
    namespace: &'a Namespace<'a>,
    name: &'static str,
}

impl<'a> Release<'a> {
    pub(super) fn new(namespace: &'a Namespace<'a>, name: &'static str) -> Self {
        Release { namespace, name }
    }

    /// Runs `helm COMMAND NAME`, with the chart and these values unless they are null. Waits until
    /// it is done.
    #[track_caller]
    pub(super) fn run(&self, command: &str, values: &Value) {
        let kubectl = &self.namespace.control_plane.kubectl;
        let mut helm = Command::new(helm::find().expect("helm was found before"));
        helm.args([command, self.name, "--namespace", self.namespace.name, "--timeout=2m"])
            .env("KUBECONFIG", &kubectl.kubeconfig)
            .env("HOME", &kubectl.home);
        if !values.is_null() {
            let file = kubectl.home.join("values.yaml");
            std::fs::write(&file, values.to_string()).expect("a file");
            let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard");
            helm.arg(chart).arg("--wait").arg("--values").arg(file);
        }
        let output = helm.output().expect("helm runs");
        assert!(
            output.status.success(),
            "helm {command}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
}
