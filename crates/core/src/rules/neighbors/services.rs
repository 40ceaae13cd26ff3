use super::missing::may_be_elsewhere;
use crate::inventory::{Selecting, labels::Selector, object_summary::Service};
use crate::rules::prelude::*;

/// Returns the Services of an input that lead to the pods of the set.
pub(in crate::rules) fn of_pods<'a>(
    query: &Query<'a>,
) -> impl Iterator<Item = (&'a ObjectSummary, &'a Service)> {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let labels = &query.controller.labels;
    let all = inventory.selecting(Selecting::Services, namespace, labels);
    all.filter_map(|item| Some((item, item.service()?))).filter(move |(item, service)| {
        let selector = Selector::Labels(service.selector.clone());
        item.namespace() == namespace && !service.is_external && selector.matches(labels)
    })
}

/// A StatefulSet and the Services with its `serviceName`: none, one, or several versions of one.
pub(in crate::rules) struct Governed<'a> {
    pub(in crate::rules) set: &'a ObjectSummary,
    pub(in crate::rules) name: &'a str,
    pub(in crate::rules) services: Vec<(&'a ObjectSummary, &'a Service)>,
    /// A different Service with this name may be in the same namespace; see [`super::missing::may_be_elsewhere`].
    pub(in crate::rules) may_be_another: bool,
}

impl<'a> Governed<'a> {
    /// `None` if the object isn't a StatefulSet that names a Service, or if the cluster's Services are unknown.
    pub(in crate::rules) fn of(query: &Query<'a>) -> Option<Self> {
        let (set, inventory) = (query.item, query.inventory());
        let name = query.details.service_name.as_deref()?;
        if query.freshness(Kind::Service) == Freshness::Unknown {
            return None;
        }
        let services = inventory.named(Kind::Service, set.namespace(), name);
        let services = services.filter_map(|item| Some((item, item.service()?))).collect();
        let may_be_another = may_be_elsewhere(query, Kind::Service, name);
        Some(Governed { set, name, services, may_be_another })
    }

    /// The first Service, if none of them meets the condition.
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
