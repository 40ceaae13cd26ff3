//! The chart, installed by Flux's helm-controller.
//!
//! The test replaces source-controller, the packager of charts: it serves the package, and sets the URL in the status
//! of a HelmChart.

use std::{ffi::OsStr, io::Read as _};

use sha2::{Digest as _, Sha256};

use super::{Site, arming, everything, load::Load, validates, values};
use crate::prelude::*;

/// The controller of HelmReleases.
pub(super) const CONTROLLER: &str = "helm-controller";
/// A file with Flux's CRDs: the HelmRelease and all sources.
pub(super) const CRDS: &str = "flux-crds.yaml";

/// The controller's log message for drift.
const DRIFT: &str = "detected changes in cluster state";

const RELEASE: &str = "helmrelease/guard";

pub(super) fn flux(shared: &Namespace<'_>) {
    let assets = &shared.control_plane.assets;
    let control_plane = ControlPlane::start(assets);
    let site = Site::new(&control_plane);
    let own = &site.own;
    let crds = fs::read_to_string(assets.join(CRDS)).expect("Flux's CRDs");
    own.kubectl(&["apply", "--server-side", "-f", "-"], &crds).accepted();
    own.kubectl(&["wait", "--for=condition=Established", "crd", "--all"], "").accepted();
    let controller = start(&control_plane);
    chart(own);
    let before = everything(own);

    let mut values = values(&site.url);
    let load = Load::start(&site);
    apply(own, &values);
    wait(own, &controller);
    arming::wait(&site.shop);
    load.assert_none_failed();
    validates(&site);

    what_setguard_writes_is_not_drift(&site);
    let log = || fs::read_to_string(&controller.log).expect("a log");
    assert!(!log().contains(DRIFT), "{}", log());

    // The patch of docs/troubleshooting.md is drift, unless the release is suspended.
    site.patch_policy();
    reconcile(own, "patched");
    wait_for_undoing(&site);
    assert!(log().contains(DRIFT), "{}", log());
    let suspend = |is_suspended: bool| {
        let patch = format!("--patch={}", json!({ "spec": { "suspend": is_suspended } }));
        own.kubectl(&["patch", RELEASE, "--type=merge", &patch], "").accepted();
    };
    suspend(true);
    site.patch_policy();
    request(own, "suspended");

    // In an upgrade after that patch, Flux takes the field back.
    let load = Load::start(&site);
    values["podAnnotations"] = json!({ "e2e": "another" });
    let pods = site.kubelet.ready();
    assert_eq!(site.policy(), "Ignore", "while the release is suspended");
    apply(own, &values);
    suspend(false);
    wait(own, &controller);
    site.wait_for_others(&pods);
    wait_for_undoing(&site);
    load.assert_none_failed();
    arming::wait(&site.shop);

    let load = Load::start(&site);
    own.kubectl(&["delete", RELEASE], "").accepted();
    load.assert_none_failed();
    site.wait_until_only(&before);
}

/// Fields that setguard writes are not drift, in several rounds.
fn what_setguard_writes_is_not_drift(site: &Site<'_>) {
    let stored = site.written();
    for kind in &stored {
        assert!(kind["owners"].is_array(), "Helm installed it, so the namespace owns it: {kind}");
        assert!(kind["webhooks"][0]["rules"].is_array(), "{kind}");
    }
    for round in 0..3 {
        reconcile(&site.own, &format!("round-{round}"));
    }
    assert_eq!(site.written(), stored);
}

fn wait_for_undoing(site: &Site<'_>) {
    becomes("the patch to be undone", || site.policy(), |policy| policy == "Fail");
}

fn start(control_plane: &ControlPlane) -> Process {
    let kubeconfig = control_plane.kubectl.kubeconfig.as_os_str();
    let args = [
        "--watch-all-namespaces", "--enable-leader-election=false", "--metrics-addr=127.0.0.1:0",
        "--health-addr=127.0.0.1:0",
    ];
    let home = control_plane.kubectl.home.as_os_str();
    let variables =
        [("KUBECONFIG", kubeconfig), ("HOME", home), ("RUNTIME_NAMESPACE", OsStr::new("default"))];
    let program = control_plane.assets.join(CONTROLLER);
    Process::start_with(&program, &args, &variables, control_plane.folder())
}

fn chart(own: &Namespace<'_>) {
    let folder = own.control_plane.folder().join("packages");
    fs::create_dir(&folder).expect("a folder");
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard");
    let mut package = Command::new(helm::find().expect("helm was found before"));
    let package = package.arg("package").arg(chart).arg("--destination").arg(&folder).output();
    let package = package.expect("helm runs");
    assert!(package.status.success(), "{package:?}");
    let file = fs::read_dir(&folder).expect("a folder").flatten().next().expect("a package");
    let bytes = fs::read(file.path()).expect("a package");
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let (size, port) = (bytes.len(), serve(bytes));
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
        "metadata": { "name": "setguard" },
        "spec": { "chart": "charts/setguard", "interval": "1h",
            "sourceRef": { "kind": "GitRepository", "name": "setguard" } },
    });
    own.apply(&object).accepted();
    let now = "2026-01-01T00:00:00Z";
    let status = json!({ "status": {
        "observedGeneration": 1,
        "artifact": {
            "url": format!("http://127.0.0.1:{port}/setguard.tgz"), "path": "setguard.tgz",
            "revision": "0.1.0", "digest": format!("sha256:{digest}"), "size": size,
            "lastUpdateTime": now,
        },
        "conditions": [{ "type": "Ready", "status": "True", "reason": "Packaged",
            "message": "packaged", "lastTransitionTime": now, "observedGeneration": 1 }],
    }});
    own.merge("helmchart/setguard --subresource=status", &status);
}

/// Answers every request with these bytes. Returns the port.
fn serve(bytes: Vec<u8>) -> u16 {
    let address = http::listen(move |mut client| {
        // The request is small enough to arrive at once.
        let _ = client.read(&mut [0; 4096])?;
        http::answer(&mut client, "200 OK", http::LAST, &bytes)
    });
    address.port()
}

fn apply(own: &Namespace<'_>, values: &Value) {
    let file = include_str!("../../../../examples/gitops/flux.yaml");
    let json = setguard::yaml::parse(file).remove(0).expect("YAML").root.to_json();
    let mut release: Value = serde_json::from_str(&json).expect("JSON");
    release["metadata"] = json!({ "name": "guard" });
    let spec = release["spec"].as_object_mut().expect("an object");
    spec.remove("chart");
    spec.insert("chartRef".to_owned(), json!({ "kind": "HelmChart", "name": "setguard" }));
    spec.insert("values".to_owned(), values.clone());
    own.apply(&release).accepted();
}

fn wait(own: &Namespace<'_>, controller: &Process) {
    eventually("the release to be ready", || {
        let release = own.read(RELEASE);
        let conditions = release["status"]["conditions"].as_array();
        let ready = conditions.into_iter().flatten().find(|it| it["type"] == "Ready");
        let is_new = release["status"]["observedGeneration"] == release["metadata"]["generation"];
        match ready {
            Some(ready) if ready["status"] == "True" && is_new => Ok(()),
            _ => Err(format!(
                "{}\n{}",
                release["status"]["conditions"],
                fs::read_to_string(&controller.log).unwrap_or_default()
            )),
        }
    });
}

/// Requests a reconciliation like `flux reconcile`.
fn request(own: &Namespace<'_>, token: &str) {
    own.does(&format!("annotate {RELEASE} --overwrite reconcile.fluxcd.io/requestedAt={token}"));
}

fn reconcile(own: &Namespace<'_>, token: &str) {
    request(own, token);
    let handled = || own.read(RELEASE)["status"]["lastHandledReconcileAt"].take();
    becomes("the request to be handled", handled, |handled| handled == token);
}
