//! The output of the chart for each platform, in a dry run.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::release::Release;
use crate::{
    harness::{control_plane::ControlPlane, process::eventually},
    namespace::Namespace,
};

/// The only file whose pods Pod Security's level "restricted" refuses: they use the host's network.
const ON_THE_HOST: &str = "eks-custom-cni.yaml";

pub(super) fn dry_runs(shared: &Namespace<'_>) {
    // One that has IPv6 too.
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.stop_api_server();
    control_plane.start_api_server(&["--service-cluster-ip-range=10.0.0.0/24,fd00:1::/108"]);
    let namespace = Namespace::create(&control_plane, "guards");
    let warn = "pod-security.kubernetes.io/warn=restricted";
    namespace.kubectl(&["label", "namespace", "guards", warn], "").accepted();
    let release = Release::new(&namespace, "setguard");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard/clouds");
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("a file");
        let values = format!("--values={}", entry.path().display());
        let (success, text) =
            release.output("template", &["--kube-version=1.36", &values], &json!({}));
        assert!(success, "{values}: {text}");
        let output = namespace.kubectl(&["apply", "--dry-run=server", "-f", "-"], &text);
        let output = output.accepted();
        let refused = output.stderr.contains("would violate PodSecurity");
        assert_eq!(refused, entry.file_name() == ON_THE_HOST, "{values}: {output}");
        assert!(output.stdout.contains("deployment.apps/setguard created (server dry run)"));
        files += 1;
    }
    assert!(files > 6, "{files}");
}

/// An API server that, as GKE's, admits pods of the system priority classes only where a quota names
/// the class.
pub(super) fn quota(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    let config = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                "limitedResources": [{
                    "resource": "pods",
                    "matchScopes": [{
                        "scopeName": "PriorityClass",
                        "operator": "In",
                        "values": ["system-cluster-critical", "system-node-critical"],
                    }],
                }],
            },
        }],
    });
    let file = control_plane.folder().join("admission.json");
    fs::write(&file, config.to_string()).expect("a file");
    control_plane.stop_api_server();
    let flag = format!("--admission-control-config-file={}", file.display());
    control_plane.start_api_server(&[&flag]);
    control_plane.start_controllers(&["resourcequota-controller"]);
    let namespace = Namespace::create(&control_plane, "guards");
    let release = Release::new(&namespace, "setguard");
    let mut values = json!({ "priorityClassName": "system-cluster-critical" });
    let install = |command: &str, values: &Value| {
        let (success, text) = release.output(command, &[], values);
        assert!(success, "{text}");
    };
    install("install", &values);
    let template = namespace.read("deployment/setguard")["spec"]["template"].take();
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "one", "labels": template["metadata"]["labels"] },
        "spec": template["spec"],
    });
    let create = || namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod.to_string());
    create().refused(&["insufficient quota to match these scopes"]);
    values["priorityClassQuota"] = json!({ "enabled": true });
    install("upgrade", &values);
    eventually("the pods to be admitted", || {
        let output = create();
        if output.success { Ok(()) } else { Err(output) }
    });
}
