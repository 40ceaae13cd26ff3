use serde_json::{Value as Json, json};

use super::{
    env, mounts, ports, probes,
    resources::{self, Of},
    restart, security_context,
};
use crate::validation::prelude::*;

/// Follows `validateContainers`.
pub(crate) fn validate(containers: &[Container], cx: &PodContext<'_>, path: &At<'_>) {
    if containers.is_empty() {
        path.required("");
        return;
    }
    let mut seen = Seen::new();
    for (container, path) in path.items(containers) {
        common(container, cx, &path);
        if !seen.insert(container.name.as_str()) {
            path.child("name").duplicate(&container.name);
        }
        if let Some(lifecycle) = &container.lifecycle {
            probes::lifecycle(lifecycle, cx, &path.child("lifecycle"));
        }
        probes::validate(container, &path);
        if cx.opts.container_restart_rules {
            restart::container(container, cx.opts, &path);
        } else if container.restart_policy.is_some() {
            path.child("restartPolicy").forbidden("may not be set for non-init containers");
        }
    }
    ports::host_port_conflicts(containers, path);
}

/// Follows `validateInitContainers`.
pub(crate) fn validate_init(
    containers: &[Container],
    regular: &[Container],
    cx: &PodContext<'_>,
    path: &At<'_>,
) {
    const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
    let mut seen = Seen::new();
    // Only init containers can collide with these names.
    for container in regular.iter().filter(|_| !containers.is_empty()) {
        seen.insert(container.name.as_str());
    }
    for (container, at) in path.items(containers) {
        common(container, cx, &at);
        restart::init_container(container, cx.opts, &at);
        let name = container.name.as_str();
        if seen.contains(name) {
            at.child("name").duplicate(name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        // Init containers run one by one. Upstream's path always has the index 0.
        ports::host_port_conflicts(std::slice::from_ref(container), path);
        if is_sidecar(container) {
            if let Some(lifecycle) = &container.lifecycle {
                probes::lifecycle(lifecycle, cx, &at.child("lifecycle"));
            }
            probes::validate(container, &at);
        } else {
            let fields = [
                ("lifecycle", container.lifecycle.is_some()),
                ("livenessProbe", container.liveness_probe.is_some()),
                ("readinessProbe", container.readiness_probe.is_some()),
                ("startupProbe", container.startup_probe.is_some()),
            ];
            at.forbid(&fields, ONLY_SIDECARS);
        }
        init_resize(container, cx.opts, &at.child("resizePolicy"));
    }
}

fn init_resize(container: &Container, opts: &Options, path: &At<'_>) {
    let policies = list(&container.resize_policy);
    if !opts.sidecar_resize_policy && !policies.is_empty() {
        let value: Vec<Json> = policies
            .iter()
            .map(|p| json!({"ResourceName": p.resource_name, "RestartPolicy": p.restart_policy}))
            .collect();
        path.invalid(Value::json(&value), "must not be set for init containers");
    }
    if !is_sidecar(container) && !opts.restart_of_init_on_resize {
        for (i, policy) in policies.iter().enumerate() {
            if policy.restart_policy == "RestartContainer" {
                let path = path.index(i);
                let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                path.child("restartPolicy").invalid(named(&policy.restart_policy), why);
            }
        }
    }
}

/// Follows `validateContainerCommon`.
pub(crate) fn common(container: &Container, cx: &PodContext<'_>, path: &At<'_>) {
    filled(&container.name, names::dns1123_label, &path.child("name"));
    required(text(&container.image), &path.child("image"));
    required_one_of(
        text(&container.termination_message_policy),
        &["File", "FallbackToLogsOnError"],
        &path.child("terminationMessagePolicy"),
    );
    ports::validate(list(&container.ports), &path.child("ports"));
    env::validate(list(&container.env), cx.opts, &path.child("env"));
    env::validate_from(list(&container.env_from), cx.opts, &path.child("envFrom"));
    mounts::validate(container, cx.volumes, &path.child("volumeMounts"));
    mounts::devices(container, cx.volumes, &path.child("volumeDevices"));
    pull_policy(text(&container.image_pull_policy), &path.child("imagePullPolicy"));
    if let Some(resources) = &container.resources {
        let at = path.child("resources");
        resources::validate(resources, Of::Container, cx, &at);
    }
    let policies = list(&container.resize_policy);
    restart::resize(policies, cx.restart_policy, &path.child("resizePolicy"));
    if let Some(context) = &container.security_context {
        let at = path.child("securityContext");
        security_context::container(context, cx.host_users, cx.opts, &at);
    }
}
