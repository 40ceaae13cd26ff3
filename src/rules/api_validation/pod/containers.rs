//! Containers: regular, init and ephemeral.
//!
//! Kubernetes: `validateContainers`, `validateInitContainers`, `validateEphemeralContainers` and
//! `validateContainerCommon` in `pkg/apis/core/validation/validation.go`.

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, PodSpec};
use serde_json::{Value as Json, json};

use super::{
    env, mounts,
    options::Options,
    ports, probes,
    resources::{self, Of},
    restart, security_context,
    util::{Seen, go_struct, label, list, named, required_one_of, text},
};
use crate::{
    finding::{Findings, Path},
    kubernetes::containers::is_sidecar,
    rules::api_validation::pod::{context::Context, util::pull_policy},
};

/// `validateContainers`.
pub(crate) fn validate(
    containers: &[Container],
    cx: &Context<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    if containers.is_empty() {
        found.required(path, "");
        return;
    }
    let mut seen = Seen::new();
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        common(container, cx, &path, found);
        if !seen.insert(container.name.as_str()) {
            found.duplicate(&path.child("name"), &container.name);
        }
        if let Some(lifecycle) = &container.lifecycle {
            probes::lifecycle(lifecycle, cx, &path.child("lifecycle"), found);
        }
        probes::validate(container, &path, found);
        if cx.opts.container_restart_rules {
            restart::container(container, cx.opts, &path, found);
        } else if container.restart_policy.is_some() {
            let why = "may not be set for non-init containers";
            found.forbidden(&path.child("restartPolicy"), why);
        }
    }
    ports::host_port_conflicts(containers, path, found);
}

/// `validateInitContainers`.
pub(crate) fn validate_init(
    containers: &[Container],
    regular: &[Container],
    cx: &Context<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
    let mut seen = Seen::new();
    // Without init containers nobody asks.
    for container in regular.iter().filter(|_| !containers.is_empty()) {
        seen.insert(container.name.as_str());
    }
    for (i, container) in containers.iter().enumerate() {
        let at = path.index(i);
        common(container, cx, &at, found);
        restart::init_container(container, cx.opts, &at, found);
        let name = container.name.as_str();
        if seen.contains(name) {
            found.duplicate(&at.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        // Init containers run one by one; upstream's path always has the index 0.
        ports::host_port_conflicts(std::slice::from_ref(container), path, found);
        if is_sidecar(container) {
            if let Some(lifecycle) = &container.lifecycle {
                probes::lifecycle(lifecycle, cx, &at.child("lifecycle"), found);
            }
            probes::validate(container, &at, found);
        } else {
            for (field, set) in [
                ("lifecycle", container.lifecycle.is_some()),
                ("livenessProbe", container.liveness_probe.is_some()),
                ("readinessProbe", container.readiness_probe.is_some()),
                ("startupProbe", container.startup_probe.is_some()),
            ] {
                if set {
                    found.forbidden(&at.child(field), ONLY_SIDECARS);
                }
            }
        }
        init_resize(container, cx.opts, &at.child("resizePolicy"), found);
    }
}

fn init_resize(container: &Container, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let policies = list(&container.resize_policy);
    if !opts.sidecar_resize_policy && !policies.is_empty() {
        let value: Vec<Json> = policies
            .iter()
            .map(|p| json!({"ResourceName": p.resource_name, "RestartPolicy": p.restart_policy}))
            .collect();
        found.invalid(path, go_struct(&value), "must not be set for init containers");
    }
    if !is_sidecar(container) && !opts.restart_of_init_on_resize {
        for (i, policy) in policies.iter().enumerate() {
            if policy.restart_policy == "RestartContainer" {
                let path = path.index(i);
                let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                found.invalid(&path.child("restartPolicy"), named(&policy.restart_policy), why);
            }
        }
    }
}

/// `validateContainerCommon`.
fn common(container: &Container, cx: &Context<'_>, path: &Path<'_>, found: &mut Findings) {
    let at = path.child("name");
    if container.name.is_empty() {
        found.required(&at, "");
    } else {
        label(&container.name, &at, found);
    }
    if text(&container.image).is_empty() {
        found.required(&path.child("image"), "");
    }
    required_one_of(
        text(&container.termination_message_policy),
        &["File", "FallbackToLogsOnError"],
        &path.child("terminationMessagePolicy"),
        found,
    );
    ports::validate(list(&container.ports), &path.child("ports"), found);
    env::validate(list(&container.env), cx.opts, &path.child("env"), found);
    env::validate_from(list(&container.env_from), cx.opts, &path.child("envFrom"), found);
    mounts::validate(container, cx.volumes, &path.child("volumeMounts"), found);
    mounts::devices(container, cx.volumes, &path.child("volumeDevices"), found);
    pull_policy(text(&container.image_pull_policy), &path.child("imagePullPolicy"), found);
    if let Some(resources) = &container.resources {
        let at = path.child("resources");
        resources::validate(resources, Of::Container, cx.claim_names, cx.opts, &at, found);
    }
    let policies = list(&container.resize_policy);
    restart::resize(policies, cx.restart_policy, &path.child("resizePolicy"), found);
    if let Some(context) = &container.security_context {
        let at = path.child("securityContext");
        security_context::container(context, cx.host_users, &at, found);
    }
}

/// `validateEphemeralContainers`. A template may have none, and yet each is judged.
pub(crate) fn validate_ephemeral(
    spec: &PodSpec,
    cx: &Context<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    const NOT_HERE: &str = "cannot be set for an Ephemeral Container";
    let ephemeral = list(&spec.ephemeral_containers);
    let (mut others, mut seen) = (Seen::new(), Seen::new());
    let all = spec.containers.iter().chain(list(&spec.init_containers));
    for container in all.filter(|_| !ephemeral.is_empty()) {
        others.insert(container.name.as_str());
        seen.insert(container.name.as_str());
    }
    for (i, one) in ephemeral.iter().enumerate() {
        let path = path.index(i);
        common(&as_container(one), cx, &path, found);
        let image = text(&one.image);
        if image.trim().len() != image.len() {
            let why = "must not have leading or trailing whitespace";
            found.invalid(&path.child("image"), image, why);
        }
        if !seen.insert(one.name.as_str()) {
            found.duplicate(&path.child("name"), &one.name);
        }
        let target = text(&one.target_container_name);
        if !target.is_empty() && !others.contains(target) {
            found.not_found(&path.child("targetContainerName"), target);
        }
        let resources = one.resources.as_ref();
        for (field, set) in [
            ("ports", one.ports.is_some()),
            (
                "resources",
                resources.is_some_and(|r| {
                    r.limits.is_some() || r.requests.is_some() || r.claims.is_some()
                }),
            ),
            ("resizePolicy", one.resize_policy.is_some()),
            ("restartPolicy", one.restart_policy.is_some()),
            ("restartPolicyRules", one.restart_policy_rules.is_some()),
            ("livenessProbe", one.liveness_probe.is_some()),
            ("readinessProbe", one.readiness_probe.is_some()),
            ("startupProbe", one.startup_probe.is_some()),
            ("lifecycle", one.lifecycle.is_some()),
        ] {
            if set {
                found.forbidden(&path.child(field), NOT_HERE);
            }
        }
        let mounts = path.child("volumeMounts");
        for (j, mount) in list(&one.volume_mounts).iter().enumerate() {
            if !text(&mount.sub_path).is_empty() {
                found.forbidden(&mounts.index(j).child("subPath"), NOT_HERE);
            }
            if !text(&mount.sub_path_expr).is_empty() {
                found.forbidden(&mounts.index(j).child("subPathExpr"), NOT_HERE);
            }
        }
    }
}

/// The part of an ephemeral container that other containers have too.
fn as_container(ephemeral: &EphemeralContainer) -> Container {
    let one = ephemeral.clone();
    Container {
        args: one.args,
        command: one.command,
        env: one.env,
        env_from: one.env_from,
        image: one.image,
        image_pull_policy: one.image_pull_policy,
        lifecycle: one.lifecycle,
        liveness_probe: one.liveness_probe,
        name: one.name,
        ports: one.ports,
        readiness_probe: one.readiness_probe,
        resize_policy: one.resize_policy,
        resources: one.resources,
        restart_policy: one.restart_policy,
        restart_policy_rules: one.restart_policy_rules,
        security_context: one.security_context,
        startup_probe: one.startup_probe,
        stdin: one.stdin,
        stdin_once: one.stdin_once,
        termination_message_path: one.termination_message_path,
        termination_message_policy: one.termination_message_policy,
        tty: one.tty,
        volume_devices: one.volume_devices,
        volume_mounts: one.volume_mounts,
        working_dir: one.working_dir,
    }
}
