use super::index::{Index, Selecting};
use crate::inventory::prelude::*;

/// The most node labels to file a host port under.
pub(super) const MOST_PINS: usize = 8;

/// Passes every key of an object to `act`, except the keys of its selector.
pub(super) fn keys(item: &ObjectSummary, act: &mut dyn FnMut(Key<'_>)) {
    let (kind, namespace) = (item.kind, &*item.namespace);
    act(Key::Kind(kind));
    act(Key::In(kind, namespace));
    act(Key::Object(kind, namespace, &item.name));
    match &item.role {
        Role::Controller(controller) => {
            if controller.selector.is_some() {
                for bucket in looks_at(controller) {
                    act(Key::Looking(namespace, bucket));
                }
            }
            if let Some(ports) = &controller.ports {
                for host_port in &ports.host_ports {
                    let (port, protocol) = (host_port.port, &*host_port.protocol);
                    act(Key::Port(port, protocol));
                    for (key, value) in ports.nodes.pins().take(MOST_PINS) {
                        act(Key::PortLabelled(port, protocol, key));
                        act(Key::PortPin(port, protocol, key, value));
                    }
                }
            }
        }
        Role::Node(node) => {
            for (key, value) in node.labels.iter() {
                act(Key::NodeLabelled(key));
                act(Key::NodeLabel(key, value));
            }
        }
        Role::Service(service) if service.refused.is_some() || !service.targets.is_empty() => {
            service.node_ports.iter().for_each(|port| act(Key::NodePort(*port)));
            // Of the usual labels, the last is the name of the program.
            if let Some((key, value)) = service.selector.iter().last() {
                act(Key::Filed(Selecting::Services, namespace, Bucket::Value(key, value)));
            }
        }
        Role::StorageClass(StorageClass { is_default: true, .. }) => act(Key::DefaultClass),
        Role::Autoscaler(it) => act(Key::Scaling(kind, namespace, &it.name)),
        Role::Access(_)
        | Role::Config(_)
        | Role::Monitor(_)
        | Role::Limits(_)
        | Role::Quota(_)
        | Role::StorageClass(_)
        | Role::DisruptionBudget(_)
        | Role::Named
        | Role::Refused(_)
        | Role::Namespace(_)
        | Role::Service(_)
        | Role::Traffic(_) => {}
        Role::Webhooks(all) => all.iter().for_each(|it| {
            act(Key::Called(&it.0, &it.1));
            act(Key::Called("", &it.1));
        }),
    }
}

/// Returns the buckets for a selector, so that the fewest objects look there.
pub(super) fn rarest<'s>(
    index: &Index,
    namespace: &str,
    selector: &'s Selector,
) -> Vec<Bucket<'s>> {
    let count = |place: &Vec<Bucket<'_>>| {
        // Few objects look into the bucket of a key.
        let buckets = place.iter().filter(|bucket| !matches!(bucket, Bucket::Key(_)));
        buckets.map(|bucket| index.get(Key::Looking(namespace, *bucket)).len()).sum::<usize>()
    };
    selector.places().into_iter().min_by_key(count).unwrap_or_default()
}

pub(super) fn selects(item: &ObjectSummary) -> Option<(Selecting, &Selector)> {
    match &item.role {
        Role::Controller(controller) => {
            controller.selector.as_ref().map(|it| (Selecting::Controllers, it))
        }
        Role::DisruptionBudget(budget) => {
            budget.selector.as_ref().map(|it| (Selecting::Budgets, it))
        }
        _ => None,
    }
}

pub(super) fn looks_at(controller: &Controller) -> impl Iterator<Item = Bucket<'_>> {
    let selector = controller.selector.iter().flat_map(Selector::buckets);
    controller.labels.buckets().chain(selector)
}
