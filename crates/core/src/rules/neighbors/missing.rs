//! Objects that a template names but that do not exist.

use crate::rules::prelude::*;

/// The kinds of objects with pods.
const WITH_PODS: [Kind; 7] = [
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::Job,
    Kind::Pod,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::StatefulSet,
];

/// Certainly missing. A namespaced object is expected in the namespace of the object that names it.
pub(in crate::rules) fn is_missing(query: &Query<'_>, kind: Kind, name: &str) -> bool {
    let namespace = if kind.is_namespaced() { query.item.namespace() } else { "" };
    query.knows(kind, namespace)
        && query.inventory().named(kind, namespace, name).next().is_none()
        && !may_be_elsewhere(query, kind, name)
}

/// Returns the object of this name if the input has it only in a different namespace, without pods that could need it
/// there. All of them set their namespace.
pub(in crate::rules) fn only_elsewhere<'a>(
    query: &Query<'a>,
    kind: Kind,
    name: &'a str,
) -> Option<&'a ObjectSummary> {
    let mut all = query.inventory().named_anywhere(kind, name);
    let (Some(other), None) = (all.next(), all.next()) else { return None };
    let has_pods = |kind: Kind| query.inventory().has_any(kind, &other.namespace);
    let is_apart = other.namespace() != query.item.namespace()
        && other.sets_namespace
        && query.item.sets_namespace;
    (is_apart && !WITH_PODS.into_iter().any(has_pods)).then_some(other)
}

/// Whether an object with this name may be in the same namespace although the namespaces seem to differ: one object
/// sets no namespace, and gets it from the command that applies the object.
pub(in crate::rules) fn may_be_elsewhere(query: &Query<'_>, kind: Kind, name: &str) -> bool {
    let is_free = |item: &ObjectSummary| !item.sets_namespace || !query.item.sets_namespace;
    query.inventory().named_anywhere(kind, name).any(is_free)
}
