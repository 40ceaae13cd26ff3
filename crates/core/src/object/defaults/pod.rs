//! The defaults of a pod template, without the defaults that only a Pod gets, such as host ports from container ports
//! or requests from limits. The code that reads quantities rounds them.
//!
//! Kubernetes: `pkg/apis/core/v1/defaults.go`.

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EphemeralContainer, HTTPGetAction, Lifecycle, PodSpec,
    PodTemplateSpec, Probe,
};

use super::shared::text;
use crate::object::defaults::shared::pull_policy_of;

mod volume;

/// `SetDefaults_PodSpec`
pub(super) fn template(template: &mut PodTemplateSpec) {
    let spec: &mut PodSpec = template.spec.get_or_insert_default();
    text(&mut spec.dns_policy, "ClusterFirst");
    text(&mut spec.restart_policy, "Always");
    spec.security_context.get_or_insert_default();
    spec.termination_grace_period_seconds.get_or_insert(30);
    text(&mut spec.scheduler_name, "default-scheduler");
    for volume in spec.volumes.iter_mut().flatten() {
        volume::volume(volume);
    }
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        self::container(container);
    }
    for container in spec.ephemeral_containers.iter_mut().flatten() {
        ephemeral(container);
    }
}

/// `SetDefaults_Container` and `SetDefaults_EphemeralContainer`: the types share fields but no trait.
macro_rules! container_defaults {
    ($name:ident, $Container:ty) => {
        fn $name(container: &mut $Container) {
            let image = container.image.as_deref().unwrap_or_default();
            text(&mut container.image_pull_policy, pull_policy_of(image));
            text(&mut container.termination_message_path, "/dev/termination-log");
            text(&mut container.termination_message_policy, "File");
            ports(&mut container.ports);
            environment(&mut container.env);
            probe(&mut container.liveness_probe);
            probe(&mut container.readiness_probe);
            probe(&mut container.startup_probe);
            lifecycle(&mut container.lifecycle);
        }
    };
}
container_defaults!(container, Container);
container_defaults!(ephemeral, EphemeralContainer);

fn ports(ports: &mut Option<Vec<ContainerPort>>) {
    for port in ports.iter_mut().flatten() {
        text(&mut port.protocol, "TCP");
    }
}

fn environment(env: &mut Option<Vec<EnvVar>>) {
    for source in env.iter_mut().flatten().filter_map(|var| var.value_from.as_mut()) {
        if let Some(field) = &mut source.field_ref {
            text(&mut field.api_version, "v1");
        }
        if let Some(file) = &mut source.file_key_ref {
            file.optional.get_or_insert(false);
        }
    }
}

/// `SetDefaults_Probe`: zero and absent are the same.
fn probe(probe: &mut Option<Probe>) {
    let Some(probe) = probe else { return };
    for (value, default) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if value.unwrap_or(0) == 0 {
            *value = Some(default);
        }
    }
    http_get(&mut probe.http_get);
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}

fn lifecycle(lifecycle: &mut Option<Lifecycle>) {
    let Some(lifecycle) = lifecycle else { return };
    for handler in [&mut lifecycle.post_start, &mut lifecycle.pre_stop].into_iter().flatten() {
        http_get(&mut handler.http_get);
    }
}

/// `SetDefaults_HTTPGetAction`
fn http_get(action: &mut Option<HTTPGetAction>) {
    let Some(action) = action else { return };
    text(&mut action.path, "/");
    text(&mut action.scheme, "HTTP");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaulted(json: &serde_json::Value) -> PodSpec {
        let mut one: PodTemplateSpec =
            serde_json::from_value(serde_json::json!({ "spec": json })).unwrap();
        template(&mut one);
        one.spec.unwrap()
    }

    #[test]
    fn an_absent_spec_is_an_empty_one() {
        let mut one = PodTemplateSpec::default();
        template(&mut one);
        let spec = one.spec.unwrap();
        assert_eq!(spec.restart_policy.as_deref(), Some("Always"));
        assert_eq!(spec.dns_policy.as_deref(), Some("ClusterFirst"));
        assert_eq!(spec.scheduler_name.as_deref(), Some("default-scheduler"));
        assert_eq!(spec.termination_grace_period_seconds, Some(30));
        assert!(spec.security_context.is_some());
    }

    #[test]
    fn what_is_pulled_each_time() {
        for image in ["nginx", "nginx:latest", "r:5000/nginx", "r/n:latest@sha256:00"] {
            assert_eq!(pull_policy_of(image), "Always", "{image}");
        }
        for image in ["nginx:1", "r:5000/nginx:1", "nginx@sha256:00", ""] {
            assert_eq!(pull_policy_of(image), "IfNotPresent", "{image}");
        }
    }

    #[test]
    fn zero_counts_as_absent_in_a_probe() {
        let spec = defaulted(&serde_json::json!({"containers": [{"name": "a",
            "ports": [{"containerPort": 80}],
            "livenessProbe": {"periodSeconds": 0, "failureThreshold": 7, "httpGet": {"port": 80}},
            "startupProbe": {"grpc": {"port": 80}}}]}));
        let container = &spec.containers[0];
        assert_eq!(container.ports.as_ref().unwrap()[0].protocol.as_deref(), Some("TCP"));
        let probe = container.liveness_probe.as_ref().unwrap();
        assert_eq!((probe.period_seconds, probe.failure_threshold), (Some(10), Some(7)));
        assert_eq!(probe.http_get.as_ref().unwrap().path.as_deref(), Some("/"));
        let grpc = container.startup_probe.as_ref().unwrap().grpc.as_ref().unwrap();
        assert_eq!(grpc.service.as_deref(), Some(""));
    }
}
