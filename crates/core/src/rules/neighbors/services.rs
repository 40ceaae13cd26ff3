//! StatefulSets and the Services that they name.

use super::missing::may_be_elsewhere;
use crate::{
    inventory::object_summary::{Controller, ObjectSummary, Service},
    kubernetes::kind::Kind,
    rules::rule::inventory::Query,
};

/// A StatefulSet that names a Service, and the Services with this name: none, one, or several
/// versions of it.
pub(in crate::rules) struct Governed<'a> {
    pub(in crate::rules) set: &'a ObjectSummary,
    pub(in crate::rules) controller: &'a Controller,
    pub(in crate::rules) name: &'a str,
    pub(in crate::rules) services: Vec<(&'a ObjectSummary, &'a Service)>,
    /// Whether a different Service with this name may be in the same namespace. One of the two
    /// objects then sets no namespace, and gets it from the command that applies the object.
    pub(in crate::rules) may_be_another: bool,
}

impl<'a> Governed<'a> {
    /// Returns the Services of a StatefulSet. `None` if the object isn't a StatefulSet that names a
    /// Service, or if the Services of its namespace are unknown.
    pub(in crate::rules) fn of(query: &Query<'a>) -> Option<Self> {
        let (set, inventory) = (query.item, query.inventory());
        let controller = set.controller()?;
        let name = set.details()?.service_name.as_deref()?;
        if !query.knows(Kind::Service, set.namespace()) {
            return None;
        }
        let services = inventory.named(Kind::Service, set.namespace(), name);
        let services = services.filter_map(|item| Some((item, item.service()?))).collect();
        let may_be_another = may_be_elsewhere(query, Kind::Service, name);
        Some(Governed { set, controller, name, services, may_be_another })
    }

    /// Returns the first Service if none of them meets the condition.
    pub(in crate::rules) fn first_unless_any(
        &self,
        is_right: impl Fn(&Service) -> bool,
    ) -> Option<(&'a ObjectSummary, &'a Service)> {
        let is_wrong = |(item, service): &(&ObjectSummary, &Service)| {
            !item.is_terminating && !is_right(service)
        };
        self.services.first().copied().filter(|_| self.services.iter().all(is_wrong))
    }
}
