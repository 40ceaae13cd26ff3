//! The containers of a pod.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::finding::Path;

/// Visits all containers like `VisitContainersWithPath`, except ephemeral containers, which a
/// template cannot have.
pub(crate) fn visit(
    spec: &PodSpec,
    path: &Path<'_>,
    visitor: &mut dyn FnMut(&Container, &Path<'_>),
) {
    let at = path.child("initContainers");
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        visitor(container, &at.index(i));
    }
    let at = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        visitor(container, &at.index(i));
    }
}

/// Returns init containers and containers. A template has no ephemeral ones.
pub(crate) fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// Returns whether an init container is a sidecar: `IsRestartableInitContainer`.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}
