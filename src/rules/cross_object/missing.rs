//! Objects that a template names and that do not exist.

use super::rule::Asked;
use crate::inventory::{item::Item, kind::Kind};

/// Whether an object is known not to exist. If it is in a namespace, that is the namespace of the
/// object that names it.
pub(super) fn is_missing(asked: &Asked<'_>, kind: Kind, name: &str) -> bool {
    let namespace = if kind.is_namespaced() { asked.item.namespace() } else { "" };
    asked.knows(kind, namespace)
        && asked.inventory().named(kind, namespace, name).next().is_none()
        && !may_be_elsewhere(asked, kind, name)
}

/// Whether one of that name may be in the same namespace, although the two seem to be in different
/// ones: one of them does not set its namespace, and gets that of whoever applies it.
pub(super) fn may_be_elsewhere(asked: &Asked<'_>, kind: Kind, name: &str) -> bool {
    let is_free = |item: &Item| !item.sets_namespace || !asked.item.sets_namespace;
    asked.inventory().named_anywhere(kind, name).any(is_free)
}
