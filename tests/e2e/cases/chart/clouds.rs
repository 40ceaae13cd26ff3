//! What the chart renders for each platform, in a dry run.

use std::{fs, path::Path};

use serde_json::json;

use super::release::Release;
use crate::{harness::control_plane::ControlPlane, namespace::Namespace};

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
