//! The labels that the controllers set on each pod, whatever its template contains.

/// The labels that the DaemonSet controller sets on its pods.
///
/// Kubernetes: `CreatePodTemplate`, pkg/controller/daemon/util/daemonset_util.go.
pub(crate) const OF_DAEMON_SETS: &[&str] = &["controller-revision-hash", "pod-template-generation"];

/// The labels that the StatefulSet controller sets on its pods.
///
/// Kubernetes: `initIdentity`, `updateIdentity` and `setPodRevision`,
/// pkg/controller/statefulset/stateful_set_utils.go.
pub(crate) const OF_STATEFUL_SETS: &[&str] = &[
    "apps.kubernetes.io/pod-index",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
];
