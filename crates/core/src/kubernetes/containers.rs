//! The containers of a pod.

use k8s_openapi::api::core::v1::{Container, ContainerRestartRule, PodSpec};

use crate::finding::Path;

/// Kubernetes: `VisitContainersWithPath`. A template cannot have ephemeral containers.
pub(crate) fn visit(
    spec: &PodSpec,
    path: &Path<'_>,
    visitor: &mut dyn FnMut(&Container, &Path<'_>),
) {
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        visitor(container, &path.item("initContainers", i));
    }
    for (i, container) in spec.containers.iter().enumerate() {
        visitor(container, &path.item("containers", i));
    }
}

/// Init containers, then the others.
pub(crate) fn containers(spec: &PodSpec) -> impl DoubleEndedIterator<Item = &Container> + Clone {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// The containers that run until the pod stops, each with its list and its index: sidecars, then the others.
pub(crate) fn running(spec: &PodSpec) -> impl Iterator<Item = (&'static str, usize, &Container)> {
    let inits = spec.init_containers.iter().flatten().enumerate();
    let sidecars = inits.filter(|(_, init)| is_sidecar(init));
    let sidecars = sidecars.map(|(i, container)| ("initContainers", i, container));
    let others = spec.containers.iter().enumerate();
    sidecars.chain(others.map(|(i, container)| ("containers", i, container)))
}

/// Returns the words of a container's command and arguments, each with the flag that it belongs to:
/// `--flag=value` or `--flag value`. Other words have no flag.
pub(crate) fn arguments(container: &Container) -> impl Iterator<Item = (&str, &str)> {
    [&container.command, &container.args].into_iter().flatten().flat_map(|list| {
        let before = std::iter::once("").chain(list.iter().map(String::as_str));
        before.zip(list.iter().map(String::as_str)).map(|(before, word)| {
            match word.split_once('=') {
                Some((flag, value)) if word.starts_with('-') => (flag, value),
                None if word.starts_with('-') => (word, ""),
                _ => (
                    if before.starts_with('-') && !before.contains('=') { before } else { "" },
                    word,
                ),
            }
        })
    })
}

/// Kubernetes: `IsRestartableInitContainer`.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Returns whether the pod ends once all containers have exited with 0. Kubernetes: `ShouldContainerBeRestarted`,
/// pkg/kubelet/container/helpers.go.
pub(crate) fn ends(spec: &PodSpec) -> bool {
    !spec.containers.is_empty() && !spec.containers.iter().any(is_restarted)
}

fn is_restarted(container: &Container) -> bool {
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    let ends = matches!(container.restart_policy.as_deref(), Some("Never" | "OnFailure"));
    !ends || rules.iter().any(is_for_success)
}

fn is_for_success(rule: &ContainerRestartRule) -> bool {
    rule.exit_codes.as_ref().is_some_and(|codes| {
        let has_zero = codes.values.iter().flatten().any(|code| *code == 0);
        (codes.operator == "In") == has_zero
    })
}
