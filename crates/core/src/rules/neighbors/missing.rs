//! Objects that a template names but that do not exist.

use crate::rules::prelude::*;

/// Certainly missing. A namespaced object is expected in the namespace of the object that names it.
pub(in crate::rules) fn is_missing(query: &Query<'_>, kind: Kind, name: &str) -> bool {
    let namespace = if kind.is_namespaced() { query.item.namespace() } else { "" };
    query.knows(kind, namespace)
        && query.inventory().named(kind, namespace, name).next().is_none()
        && !may_be_elsewhere(query, kind, name)
}

/// Whether an object with this name may be in the same namespace although the namespaces seem to differ: one object
/// sets no namespace, and gets it from the command that applies the object.
pub(in crate::rules) fn may_be_elsewhere(query: &Query<'_>, kind: Kind, name: &str) -> bool {
    let is_free = |item: &ObjectSummary| !item.sets_namespace || !query.item.sets_namespace;
    query.inventory().named_anywhere(kind, name).any(is_free)
}
