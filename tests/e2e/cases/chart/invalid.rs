//! A mistake in the policy, followed by a replacement of all pods.

use super::{NAME, Site, arming, load, load::Load, release::Release, values};
use crate::prelude::*;

/// No write fails. Until the policy is valid again, new pods warn instead of denying.
///
/// Issue 33: without this, no new pod starts, and `Fail` refuses every write.
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

    let apply = || site.shop.dry_run(&surging("agent"));
    becomes("a warning by new pods only", apply, |output| {
        output.success && output.stderr.contains("setguard: the policy cannot be used")
    });
    assert!(site.kubelet.logs(NAME).contains("the policy cannot be used; until it is valid"));

    release.take_back(&values);
    becomes("the policy to apply again", apply, |it| !it.success).refused(&[load::REFUSED]);
    release.run("uninstall", &Value::Null);
}
