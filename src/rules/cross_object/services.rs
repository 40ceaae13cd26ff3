//! StatefulSets and the Services that they name.

use std::collections::{HashMap, HashSet};

use crate::inventory::{
    Inventory,
    item::{Controller, Item, Service},
};

/// A StatefulSet that names a Service, and the Services of that name: none, one, or several
/// versions of the same one.
pub(super) struct Governed<'a> {
    pub(super) index: usize,
    pub(super) set: &'a Item,
    pub(super) controller: &'a Controller,
    pub(super) name: &'a str,
    pub(super) services: &'a [(&'a Item, &'a Service)],
    /// Whether another Service of that name may be in the same namespace: one of the two objects
    /// does not set its namespace, and gets that of whoever applies it.
    pub(super) may_be_another: bool,
}

/// Calls `see` with every StatefulSet that names a Service, if the input has any Service of its
/// namespace.
pub(super) fn each(inventory: &Inventory, mut see: impl FnMut(Governed<'_>)) {
    let mut services: HashMap<_, Vec<(&Item, &Service)>> = HashMap::new();
    let mut namespaces = HashSet::new();
    // By name: whether all of them set their namespace.
    let mut names: HashMap<&str, bool> = HashMap::new();
    for (_, item) in inventory.items() {
        if let Some(service) = item.service() {
            namespaces.insert(item.namespace());
            *names.entry(item.name()).or_insert(true) &= item.sets_namespace;
            services.entry((item.namespace(), item.name())).or_default().push((item, service));
        }
    }
    for (index, set) in inventory.items().filter(|(_, it)| namespaces.contains(it.namespace())) {
        let Some(controller) = set.controller() else { continue };
        let Some(name) = controller.service_name.as_deref() else { continue };
        let services = services.get(&(set.namespace(), name)).map(Vec::as_slice);
        let services = services.unwrap_or_default();
        let may_be_another = names.get(name).is_some_and(|all_set| !all_set || !set.sets_namespace);
        see(Governed { index, set, controller, name, services, may_be_another });
    }
}
