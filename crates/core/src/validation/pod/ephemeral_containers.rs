//! A template cannot have ephemeral containers, but the API server still validates each one.

use k8s_openapi::api::core::v1::EphemeralContainer;

use super::containers::common;
use crate::kubernetes::semantic;
use crate::validation::prelude::*;

/// Follows `validateEphemeralContainers`.
pub(crate) fn validate(spec: &PodSpec, cx: &PodContext<'_>, path: &At<'_>) {
    let ephemeral = list(&spec.ephemeral_containers);
    let (mut others, mut seen) = (Seen::new(), Seen::new());
    let all = spec.containers.iter().chain(list(&spec.init_containers));
    for container in all.filter(|_| !ephemeral.is_empty()) {
        others.insert(container.name.as_str());
        seen.insert(container.name.as_str());
    }
    for (one, path) in path.items(ephemeral) {
        common(&as_container(one), cx, &path);
        let image = text(&one.image);
        if image.trim().len() != image.len() {
            path.child("image").invalid(image, "must not have leading or trailing whitespace");
        }
        if !seen.insert(one.name.as_str()) {
            path.child("name").duplicate(&one.name);
        }
        let target = text(&one.target_container_name);
        if !target.is_empty() && !others.contains(target) {
            path.child("targetContainerName").not_found(target);
        }
        only_for_others(one, &path);
    }
}

fn only_for_others(one: &EphemeralContainer, path: &At<'_>) {
    const NOT_HERE: &str = "cannot be set for an Ephemeral Container";
    let resources = one.resources.as_ref();
    let fields = [
        ("ports", one.ports.is_some()),
        (
            "resources",
            resources
                .is_some_and(|r| r.limits.is_some() || r.requests.is_some() || r.claims.is_some()),
        ),
        ("resizePolicy", one.resize_policy.is_some()),
        ("restartPolicy", one.restart_policy.is_some()),
        ("restartPolicyRules", one.restart_policy_rules.is_some()),
        ("livenessProbe", one.liveness_probe.is_some()),
        ("readinessProbe", one.readiness_probe.is_some()),
        ("startupProbe", one.startup_probe.is_some()),
        ("lifecycle", one.lifecycle.is_some()),
    ];
    path.forbid(&fields, NOT_HERE);
    for (mount, path) in path.child("volumeMounts").items(list(&one.volume_mounts)) {
        let [sub_path, expression] =
            [&mount.sub_path, &mount.sub_path_expr].map(|it| !text(it).is_empty());
        path.forbid(&[("subPath", sub_path), ("subPathExpr", expression)], NOT_HERE);
    }
}

/// An ephemeral container has all fields of a container.
fn as_container(ephemeral: &EphemeralContainer) -> Container {
    // From a text, as everywhere else: a second reader of containers takes 50 KB in the page.
    let json = semantic::to_json(ephemeral).unwrap_or_default();
    serde_json::from_str(&json.to_string()).unwrap_or_default()
}
