//! What several traps read off an object.

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSetStatus, StatefulSetStatus},
        core::v1::{Container, PodSpec},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::{
    field::Path,
    subject::{Object, Subject},
};

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

/// A count, or that percentage of a total. `None` for what the API server refuses.
///
/// Kubernetes: `GetScaledValueFromIntOrPercent`, apimachinery pkg/util/intstr/intstr.go.
pub(super) fn scaled(value: &IntOrString, total: i32, round_up: bool) -> Option<i64> {
    match value {
        IntOrString::Int(count) => Some((*count).into()),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let hundredfold = percent.checked_mul(total.into())?;
            Some((hundredfold + if round_up { 99 } else { 0 }) / 100)
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_asked() {
        let percent = |text: &str| IntOrString::String(text.to_owned());
        assert_eq!(scaled(&percent("30%"), 3, false), Some(0));
        assert_eq!(scaled(&percent("30%"), 3, true), Some(1));
        assert_eq!(scaled(&percent("0%"), 3, true), Some(0));
        assert_eq!(scaled(&percent("100%"), 3, false), Some(3));
        assert_eq!(scaled(&percent("x"), 3, true), None);
        assert_eq!(scaled(&IntOrString::Int(7), 3, true), Some(7));
    }
}
