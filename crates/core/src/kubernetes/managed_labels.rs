//! The labels that the controllers set on each pod, whatever the template says.

use super::resource::WorkloadKind;

/// Kubernetes: `CreatePodTemplate`, pkg/controller/daemon/util/daemonset_util.go.
const OF_DAEMON_SETS: &[&str] = &[REVISION, GENERATION];

/// Kubernetes: `initIdentity`, `updateIdentity` and `setPodRevision`, pkg/controller/statefulset/stateful_set_utils.go.
const OF_STATEFUL_SETS: &[&str] = &[POD_INDEX, REVISION, POD_NAME];

pub(crate) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
pub(crate) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// A hash of the template. In a StatefulSet, the name of the set and a hyphen precede it.
pub(crate) const REVISION: &str = "controller-revision-hash";
/// The generation of a DaemonSet's template, counted from 1.
pub(crate) const GENERATION: &str = "pod-template-generation";

pub(crate) const fn of(kind: WorkloadKind) -> &'static [&'static str] {
    match kind {
        WorkloadKind::DaemonSet => OF_DAEMON_SETS,
        WorkloadKind::StatefulSet => OF_STATEFUL_SETS,
    }
}

/// Returns the ordinal in a value of [`POD_NAME`] or [`POD_INDEX`], if a pod of the set can have it.
pub(crate) fn ordinal(set: &str, label: &str, value: &str) -> Option<i64> {
    let number = match label {
        POD_INDEX => value,
        POD_NAME => value.strip_prefix(set)?.strip_prefix('-')?,
        _ => return None,
    };
    written_ordinal(number)
}

/// Returns an ordinal as controllers write it, without leading zeros or a sign.
pub(crate) fn written_ordinal(number: &str) -> Option<i64> {
    let ordinal = number.parse().ok()?;
    (ordinal >= 0 && i64::to_string(&ordinal) == number).then_some(ordinal)
}

pub(crate) fn is_possible(kind: WorkloadKind, set: &str, label: &str, value: &str) -> bool {
    match (kind, label) {
        (WorkloadKind::StatefulSet, REVISION) => {
            value.strip_prefix(set).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_hash)
        }
        (WorkloadKind::DaemonSet, REVISION) => is_hash(value),
        (WorkloadKind::DaemonSet, GENERATION) => value.parse().is_ok_and(|number: i64| number > 0),
        (WorkloadKind::StatefulSet, _) => ordinal(set, label, value).is_some(),
        (WorkloadKind::DaemonSet, _) => true,
    }
}

/// Kubernetes: `SafeEncodeString`, apimachinery pkg/util/rand/rand.go, of 32 bits in decimal.
fn is_hash(text: &str) -> bool {
    (1..=10).contains(&text.len()) && text.chars().all(|c| "456789bcdf".contains(c))
}
