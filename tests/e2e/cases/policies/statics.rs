//! `setguard export --static`: policies that kube-apiserver reads from files.

use super::export_with;
use crate::prelude::*;

const PLUGINS: [&str; 2] = ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];
const POLICY: &str = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n\
    injection: {pairedControllers: {users: [admin]}}\n";

/// The policies apply from the first write, without a policy in the API.
pub(super) fn from_the_start(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    // Before 1.37, a feature gate is off.
    if control_plane.minor() < 37 {
        return;
    }
    let folder = control_plane.folder().to_owned();
    let write = |plugin: &str, name: &str, text: &str| {
        fs::create_dir_all(folder.join(plugin)).unwrap();
        fs::write(folder.join(plugin).join(name), text).unwrap();
    };
    let rules = export_with("vap", &control_plane, POLICY, &["--static"]);
    write(PLUGINS[0], "rules.yaml", &rules);
    let injections = export_with("map", &control_plane, POLICY, &["--static"]);
    write(PLUGINS[1], "injections.yaml", &injections);
    // The comment in the other file has this file's flags.
    let command = injections.lines().find_map(|it| it.strip_prefix("# setguard export vap "));
    let flags: Vec<_> = command.unwrap().split(' ').collect();
    let conflicts = export_with("vap", &control_plane, POLICY, &flags);
    write(PLUGINS[0], "injections.yaml", &conflicts);
    let configuration = configuration(&folder);

    control_plane.stop_api_server();
    control_plane.start_api_server(&[&configuration]);
    // No waiting: the API server has just become ready.
    let namespace = Namespace { control_plane: &control_plane, name: "default" };
    let output = namespace.dry_run(&surging("agent"));
    let page = "(setguard: surge-host-port, https://setguard.io/rules/surge-host-port.html)";
    output.refused(&["surge-host-port.setguard.static.k8s.io", page]);
    namespace.dry_run(&daemon_set("agent")).silently();

    let mut own = pod("own");
    own["metadata"]["annotations"] = json!({ "setguard.io/node": "node-a" });
    let stored = namespace.would_store(&own);
    assert!(stored["spec"]["affinity"].to_string().contains("node-a"), "{stored}");
    own["spec"]["nodeName"] = json!("node-b");
    namespace.dry_run(&own).refused(&["node-pin-conflict.setguard.static.k8s.io"]);

    for kind in PLUGINS {
        let output = control_plane.kubectl.run(&["get", kind, "-o", "name"], "");
        assert_eq!(output.accepted().stdout, "", "{kind}");
    }
}

/// The kube-apiserver flag with a configuration for the files.
fn configuration(folder: &Path) -> String {
    let plugins = PLUGINS.map(|plugin| {
        json!({
            "name": plugin,
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": format!("{plugin}Configuration"),
                "staticManifestsDir": folder.join(plugin),
            },
        })
    });
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": plugins,
    });
    let path = folder.join("admission.yaml");
    fs::write(&path, configuration.to_string()).unwrap();
    format!("--admission-control-config-file={}", path.display())
}
