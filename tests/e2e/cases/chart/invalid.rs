//! A mistake in the policy, and then all pods are replaced.

use serde_json::{Value, json};

use super::{NAME, Site, arming, load, load::Load, release::Release, values};
use crate::{
    harness::{control_plane::ControlPlane, process::eventually},
    manifests::daemon_set,
    namespace::Namespace,
};

/// No write fails. The new pods warn of what they would deny, until the policy is valid again.
///
/// Issue 33: before, no new pod came up, and with `Fail` every write was refused.
pub(super) fn policy(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let release = Release::new(&site.own, "guard");
    let values = values(&site.url);
    release.run("install", &values);
    arming::wait(&site.shop);

    let load = Load::start(&site);
    let before = site.kubelet.ready();
    let wrong = json!({ "data": { "policy.yaml": "rules:\n  no-such-rule: deny\n" } });
    let configmap = format!("{NAME}-policy");
    let patch = ["patch", "configmap", &configmap, "--patch", &wrong.to_string()];
    site.own.kubectl(&patch, "").accepted();
    let restart = ["rollout", "restart", &format!("deployment/{NAME}")];
    site.own.kubectl(&restart, "").accepted();
    site.wait_for_others(&before);
    load.assert_none_failed();

    let mut spoilt = daemon_set("agent");
    load::spoil(&mut spoilt);
    let apply =
        || site.shop.kubectl(&["apply", "--dry-run=server", "-f", "-"], &spoilt.to_string());
    eventually("a warning by new pods only", || {
        let output = apply();
        let warned =
            output.success && output.stderr.contains("setguard: the policy cannot be used");
        if warned { Ok(()) } else { Err(output) }
    });
    assert!(site.kubelet.logs(NAME).contains("the policy cannot be used; until it is valid"));

    release.take_back(&values);
    eventually("the policy to apply again", || {
        let output = apply();
        if output.success { Err(output) } else { Ok(()) }
    });
    apply().refused(&[load::REFUSED]);
    release.run("uninstall", &Value::Null);
}
