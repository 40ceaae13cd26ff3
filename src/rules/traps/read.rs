//! What several traps read off an object.

mod pods;
mod rollout;
mod stateful_sets;

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSetStatus, StatefulSetStatus},
        core::v1::{Container, PodSpec},
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

pub(crate) use self::{
    pods::{node_port, self_anti_affinity},
    rollout::{scaled, strategy, surges},
    stateful_sets::{
        MAX_UNAVAILABLE_GATE, claims, held_back_again, max_unavailable, ordinals, partition,
        pod_names, stateful_set,
    },
};
use crate::{
    finding::{Path, paths::SPEC},
    kubernetes::selector,
    object::{DaemonSetSpec, Object, Subject, Workload},
};

/// Whether an UPDATE changes the template, which is what starts a rollout. Ask it last: it reads
/// the old template.
pub(crate) fn template_changes(subject: &Subject<'_>) -> bool {
    subject.old_template().is_some_and(|old| old != subject.object.template())
}

/// The spec of the template's pods.
pub(crate) fn pod_spec<'a>(object: &'a Object<'_>) -> Option<&'a PodSpec> {
    object.template().spec.as_ref()
}

/// The status of a StatefulSet. On the main resource's UPDATE it is the stored one.
pub(crate) fn stateful_set_status<T>(object: &Object<'_, T>) -> Option<StatefulSetStatus> {
    serde_json::from_str(object.status?.get()).ok()
}

/// The status of a DaemonSet. On the main resource's UPDATE it is the stored one.
pub(crate) fn daemon_set_status<T>(object: &Object<'_, T>) -> Option<DaemonSetStatus> {
    serde_json::from_str(object.status?.get()).ok()
}

/// Whether an init container goes on running beside the others.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Calls `see` with the address of the spec of the template's pods.
pub(crate) fn at_pod_spec(see: impl FnOnce(&Path<'_>)) {
    let spec = SPEC;
    let template = spec.child("template");
    see(&template.child("spec"));
}

/// The spec of an object that is a DaemonSet.
pub(crate) fn daemon_set<'a>(object: &'a Object<'_>) -> Option<&'a DaemonSetSpec> {
    match &object.workload {
        Workload::DaemonSet(spec) => Some(spec),
        Workload::StatefulSet(_) => None,
    }
}

/// The selector, if the API server accepts it with this template.
pub(crate) fn selector<'a>(object: &'a Object<'_>) -> Option<&'a LabelSelector> {
    let labels = object.template().metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    object.selector().filter(|it| {
        selector::parses(it) && !selector::is_empty(it) && selector::matches_labels(it, labels)
    })
}
