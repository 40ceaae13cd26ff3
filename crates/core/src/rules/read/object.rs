use k8s_openapi::api::apps::v1::{DaemonSetStatus, StatefulSetStatus};

use crate::rules::command::Kubectl;
use crate::rules::prelude::*;

pub(crate) fn pod_spec<'a>(object: &'a Object<'_>) -> Option<&'a PodSpec> {
    object.template().spec.as_ref()
}

/// On UPDATE of the main resource this is the stored status.
pub(crate) fn stateful_set_status<T>(object: &Object<'_, T>) -> Option<StatefulSetStatus> {
    object.status.read()
}

/// On UPDATE of the main resource this is the stored status.
pub(crate) fn daemon_set_status<T>(object: &Object<'_, T>) -> Option<DaemonSetStatus> {
    object.status.read()
}

/// `None` if the API server rejects the selector with this template.
pub(crate) fn selector<'a>(object: &'a Object<'_>) -> Option<&'a LabelSelector> {
    let labels = object.template().metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    object.selector().filter(|it| {
        selector::parses(it) && !selector::is_empty(it) && selector::matches_labels(it, labels)
    })
}

/// Returns `kubectl COMMAND -n NAMESPACE NAME`. Without a namespace, both use kubectl's current one.
pub(crate) fn kubectl<T>(
    effect: Effect,
    command: &str,
    object: &Object<'_, T>,
    name: &str,
) -> Command {
    let namespace = object.metadata.namespace.as_deref().filter(|name| !name.is_empty());
    let words = if name.is_empty() { &[][..] } else { &[name][..] };
    Kubectl { context: None, namespace }.does(effect, command, words)
}
