//! What several traps read off an object.

mod rollout;

use std::ops::Range;

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSetStatus, StatefulSetStatus},
        core::v1::{Container, PersistentVolumeClaim, PodAffinityTerm, PodSpec},
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

pub(super) use self::rollout::{scaled, strategy, surges};
use crate::{
    api_validation::selector,
    field::Path,
    subject::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
};

/// Without it a StatefulSet's `maxUnavailable` is dropped, or ignored where it is stored.
pub(super) const MAX_UNAVAILABLE_GATE: &str = "MaxUnavailableStatefulSet";

/// Whether an UPDATE changes the template, which is what starts a rollout.
pub(super) fn template_changes(subject: &Subject<'_>) -> bool {
    subject.old().is_some_and(|old| old.template() != subject.object.template())
}

/// The spec of the template's pods.
pub(super) fn pod_spec<'a>(object: &'a Object<'_>) -> Option<&'a PodSpec> {
    object.template().spec.as_ref()
}

/// The status of a StatefulSet. On the main resource's UPDATE it is the stored one.
pub(super) fn stateful_set_status(object: &Object<'_>) -> Option<StatefulSetStatus> {
    serde_json::from_str(object.status?.get()).ok()
}

/// The status of a DaemonSet. On the main resource's UPDATE it is the stored one.
pub(super) fn daemon_set_status(object: &Object<'_>) -> Option<DaemonSetStatus> {
    serde_json::from_str(object.status?.get()).ok()
}

/// Whether an init container goes on running beside the others.
pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Calls `see` with every container and init container of a pod spec, and its address.
pub(super) fn each_container(
    spec: &PodSpec,
    path: &Path<'_>,
    mut see: impl FnMut(&Container, &Path<'_>),
) {
    let init_path = path.child("initContainers");
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        see(container, &init_path.index(i));
    }
    let path = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        see(container, &path.index(i));
    }
}

/// Calls `see` with the address of the spec of the template's pods.
pub(super) fn at_pod_spec(see: impl FnOnce(&Path<'_>)) {
    let spec = Path::new("spec");
    let template = spec.child("template");
    see(&template.child("spec"));
}

/// The spec of an object that is a DaemonSet.
pub(super) fn daemon_set<'a>(object: &'a Object<'_>) -> Option<&'a DaemonSetSpec> {
    match &object.workload {
        Workload::DaemonSet(spec) => Some(spec),
        Workload::StatefulSet(_) => None,
    }
}

/// The selector, if the API server accepts it with this template.
pub(super) fn selector<'a>(object: &'a Object<'_>) -> Option<&'a LabelSelector> {
    let labels = object.template().metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    object.selector().filter(|it| {
        selector::parses(it) && !selector::is_empty(it) && selector::matches_labels(it, labels)
    })
}

/// The spec of an object that is a StatefulSet.
pub(super) fn stateful_set<'a>(object: &'a Object<'_>) -> Option<&'a StatefulSetSpec> {
    match &object.workload {
        Workload::StatefulSet(spec) => Some(spec),
        Workload::DaemonSet(_) => None,
    }
}

/// The ordinals of a StatefulSet's pods.
///
/// Kubernetes: `getStartOrdinal`, `getEndOrdinal`, pkg/controller/statefulset/stateful_set_utils.go.
pub(super) fn ordinals(spec: &StatefulSetSpec) -> Range<i64> {
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0).into();
    start..start + i64::from(spec.replicas.unwrap_or(1).max(0))
}

/// The index below which a rolling update leaves pods alone. `None` without rolling updates.
pub(super) fn partition(spec: &StatefulSetSpec) -> Option<i32> {
    let strategy = spec.update_strategy.as_ref();
    let strategy = strategy.filter(|it| it.type_.as_deref() == Some("RollingUpdate"))?;
    Some(strategy.rolling_update.as_ref().and_then(|rolling| rolling.partition).unwrap_or(0))
}

/// How many pods of a StatefulSet an update may take down at once, if the feature is on. `None`
/// where nothing is said, and for what the API server refuses.
///
/// Kubernetes: `getStatefulSetMaxUnavailable`, pkg/controller/statefulset/stateful_set_utils.go.
pub(super) fn max_unavailable(spec: &StatefulSetSpec) -> Option<i64> {
    partition(spec)?;
    let value = spec.update_strategy.as_ref()?.rolling_update.as_ref()?.max_unavailable.as_ref()?;
    if matches!(value, IntOrString::String(_)) && scaled(value, 100, false)? > 100 {
        return None;
    }
    Some(scaled(value, spec.replicas.unwrap_or(1), false)?.max(1))
}

/// The names of a StatefulSet's pods with these ordinals: `web-1`, `web-1 and web-2`,
/// `web-1 to web-5`.
pub(super) fn pod_names(name: &str, ordinals: &Range<i64>) -> String {
    let (first, last) = (ordinals.start, ordinals.end - 1);
    match last - first {
        ..0 => "no pod".to_owned(),
        0 => format!("{name}-{first}"),
        1 => format!("{name}-{first} and {name}-{last}"),
        2.. => format!("{name}-{first} to {name}-{last}"),
    }
}

/// The claim templates of a StatefulSet, with their names.
pub(super) fn claims(
    spec: &StatefulSetSpec,
) -> impl Iterator<Item = (&str, &PersistentVolumeClaim)> + Clone {
    let claims = spec.volume_claim_templates.as_deref().unwrap_or_default().iter();
    claims.map(|claim| (claim.metadata.name.as_deref().unwrap_or_default(), claim))
}

/// The partition, where it still holds back the last template and an update brings the next one
/// without touching it.
pub(super) fn held_back_again(subject: &Subject<'_>) -> Option<i32> {
    let (old, spec) = subject.old().zip(stateful_set(&subject.object))?;
    let replicas = spec.replicas.unwrap_or(1);
    let partition = partition(spec).filter(|partition| (1..replicas).contains(partition))?;
    let status = stateful_set_status(old)?;
    let held_back = status.current_revision != status.update_revision;
    let untouched = self::partition(stateful_set(old)?) == Some(partition);
    (held_back && untouched && template_changes(subject)).then_some(partition)
}

/// The required anti-affinity terms of a template by which its own pods keep away from each other.
pub(super) fn self_anti_affinity<'a>(
    object: &'a Object<'_>,
) -> impl Iterator<Item = (usize, &'a PodAffinityTerm)> {
    let affinity = pod_spec(object).and_then(|spec| spec.affinity.as_ref());
    let anti = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = anti.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    let labels = object.template().metadata.as_ref().and_then(|m| m.labels.as_ref());
    let own = object.metadata.namespace.as_deref();
    terms.into_iter().flatten().enumerate().filter(move |(_, term)| {
        let named = term.namespaces.as_deref().unwrap_or_default();
        let here = match &term.namespace_selector {
            Some(selector) if selector::is_empty(selector) => true,
            None if named.is_empty() => true,
            _ => named.iter().any(|name| Some(name.as_str()) == own),
        };
        let differ = term.mismatch_label_keys.iter().flatten();
        let differ = differ.into_iter().any(|key| labels.is_some_and(|l| l.contains_key(key)));
        let selector = term.label_selector.as_ref().filter(|selector| selector::parses(selector));
        here && !differ && selector.is_some_and(|s| selector::matches_labels(s, labels))
    })
}

/// A port of the node that a pod claims.
#[derive(Debug)]
pub(super) struct NodePort<'a> {
    /// The container that declares it.
    pub(super) container: &'a Container,
    /// The list that the container is in, and its place there.
    pub(super) at: (&'static str, usize),
    /// The place of the port in the container's list, and whether it says `hostPort`.
    pub(super) port: (usize, bool),
    /// Its number.
    pub(super) number: i32,
}

/// The first port of the node that a pod claims while it runs. With `hostNetwork` every declared
/// port is one; init containers have gone by then, unless they are sidecars.
///
/// Kubernetes: `GetHostPorts`, pkg/scheduler/util/utils.go; `defaultHostNetworkPorts`,
/// pkg/apis/core/v1/defaults.go.
pub(super) fn node_port(spec: &PodSpec) -> Option<NodePort<'_>> {
    let host_network = spec.host_network == Some(true);
    let inits = spec.init_containers.iter().flatten().enumerate();
    let inits = inits.map(|(i, container)| (container, ("initContainers", i)));
    let others = spec.containers.iter().enumerate();
    let others = others.map(|(i, container)| (container, ("containers", i)));
    inits.filter(|(init, _)| is_sidecar(init)).chain(others).find_map(|(container, at)| {
        container.ports.iter().flatten().enumerate().find_map(|(j, port)| {
            let said = port.host_port.filter(|port| *port != 0);
            let number = said.or(host_network.then_some(port.container_port))?;
            Some(NodePort { container, at, port: (j, said.is_some()), number })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_named_by_their_ordinals() {
        assert_eq!(pod_names("web", &(3..3)), "no pod");
        assert_eq!(pod_names("web", &(3..4)), "web-3");
        assert_eq!(pod_names("web", &(3..5)), "web-3 and web-4");
        assert_eq!(pod_names("web", &(0..5)), "web-0 to web-4");
    }
}
