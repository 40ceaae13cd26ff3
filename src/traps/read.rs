//! What several traps read off an object.

use std::ops::Range;

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSetStatus, StatefulSetStatus},
        core::v1::{Container, PersistentVolumeClaim, PodSpec},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::{
    field::Path,
    subject::{Object, StatefulSetSpec, Subject, Workload},
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

/// A count or a percentage as it is written.
pub(super) fn written(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(count) => count.to_string(),
        IntOrString::String(text) => text.clone(),
    }
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
