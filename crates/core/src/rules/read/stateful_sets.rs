use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::{object::stateful_set_status, scaled};
use crate::rules::prelude::*;

pub(crate) use crate::rollout::stateful_set::{ordinals, partition, replaced};
/// How many pods a rolling update may take down at once if the feature gate is on. `None` if the field is not set, or
/// has a value that the API server rejects.
///
/// Kubernetes: `getStatefulSetMaxUnavailable`, pkg/controller/statefulset/stateful_set_utils.go.
pub(crate) fn max_unavailable<T>(spec: &StatefulSetSpec<T>) -> Option<i64> {
    partition(spec)?;
    let value = spec.update_strategy.as_ref()?.rolling_update.as_ref()?.max_unavailable.as_ref()?;
    if matches!(value, IntOrString::String(_)) && scaled(value, 100, false)? > 100 {
        return None;
    }
    Some(scaled(value, spec.replicas.unwrap_or(1), false)?.max(1))
}

/// `web-1`, `web-1 and web-2`, `web-1 to web-5`.
pub(crate) fn pod_names(name: &str, ordinals: &Range<i64>) -> String {
    let (first, last) = (ordinals.start, ordinals.end - 1);
    match last - first {
        ..0 => "no pod".to_owned(),
        0 => format!("{name}-{first}"),
        1 => format!("{name}-{first} and {name}-{last}"),
        2.. => format!("{name}-{first} to {name}-{last}"),
    }
}

/// The removed ordinals below and above the remaining ones.
pub(crate) fn removed(before: &Range<i64>, after: &Range<i64>) -> [Range<i64>; 2] {
    let low = before.start..after.start.clamp(before.start, before.end);
    let high = after.end.clamp(low.end, before.end)..before.end;
    [low, high]
}

pub(crate) fn removed_names(name: &str, removed: &[Range<i64>; 2]) -> String {
    let ranges = removed.iter().filter(|range| !range.is_empty());
    ranges.map(|range| pod_names(name, range)).collect::<Vec<_>>().join(", ")
}

pub(crate) fn claims<T>(
    spec: &StatefulSetSpec<T>,
) -> impl Iterator<Item = (&str, &PersistentVolumeClaim)> + Clone {
    let claims = spec.volume_claim_templates.as_deref().unwrap_or_default().iter();
    claims.map(|claim| (claim.metadata.name.as_deref().unwrap_or_default(), claim))
}

/// The partition, if it holds back the previous change of the template, and this update changes the template again but
/// not the partition.
pub(crate) fn partition_still_held(subject: &Subject<'_>, cluster: &Cluster) -> Option<i32> {
    let (old, spec) = subject.old().zip(subject.object.stateful_set())?;
    let replicas = spec.replicas.unwrap_or(1);
    let partition = partition(spec).filter(|partition| (1..replicas).contains(partition))?;
    let status = stateful_set_status(old)?;
    let held_back = status.current_revision != status.update_revision;
    let untouched = self::partition(old.stateful_set()?) == Some(partition);
    (held_back && untouched && subject.template_changes(cluster)).then_some(partition)
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
