//! Questions that the indexes answer.

use super::{
    file::{MOST_PINS, looks_at, rarest},
    index::{Key, Selecting},
    item::{Controller, Item},
    labels::{Labels, Selector},
    nodes::{Claim, Nodes},
    store::Inventory,
};

impl Inventory {
    /// The ids of controllers that may share pods with this one, with some others. Each list is in
    /// ascending order.
    pub(crate) fn near(&self, item: &Item, controller: &Controller) -> Vec<&[u32]> {
        let Some(selector) = &controller.selector else { return Vec::new() };
        let namespace = &*item.namespace;
        let filed = looks_at(controller)
            .map(|bucket| self.index.get(Key::Filed(Selecting::Controllers, namespace, bucket)));
        let looking = rarest(&self.index, namespace, selector).into_iter();
        let looking = looking.map(|bucket| self.index.get(Key::Looking(namespace, bucket)));
        filed.chain(looking).filter(|list| !list.is_empty()).collect()
    }

    /// The PodDisruptionBudgets of a namespace that may select pods with these labels, with some
    /// others.
    pub(crate) fn budgets(&self, namespace: &str, labels: &Labels) -> impl Iterator<Item = &Item> {
        let ids = labels.buckets().flat_map(move |bucket| {
            self.index.get(Key::Filed(Selecting::Budgets, namespace, bucket)).iter().copied()
        });
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.item(id))
    }

    /// The controllers of a namespace whose pods a selector matches.
    pub(crate) fn selected_by<'a>(
        &'a self,
        namespace: &'a str,
        selector: &'a Selector,
    ) -> impl Iterator<Item = &'a Item> {
        let buckets = rarest(&self.index, namespace, selector).into_iter();
        let ids = buckets.flat_map(move |bucket| self.index.get(Key::Looking(namespace, bucket)));
        ids.filter_map(|id| self.item(*id)).filter(move |item| {
            let controller = item.controller().filter(|_| item.namespace() == namespace);
            controller.is_some_and(|controller| selector.matches(&controller.labels))
        })
    }

    /// The ids of the DaemonSets that may claim this port of one of these nodes, with some others:
    /// two lists in ascending order.
    pub(crate) fn claimants<'a>(
        &'a self,
        claim: &'a Claim,
        nodes: &'a Nodes,
    ) -> [Box<dyn Iterator<Item = u32> + 'a>; 2] {
        let (port, protocol) = (claim.port, &*claim.protocol);
        let all = self.index.get(Key::Port(port, protocol));
        let key = |key: &str| self.index.get(Key::PortKey(port, protocol, key));
        let pin = |key: &str, value: &str| self.index.get(Key::PortPin(port, protocol, key, value));
        // Those without the label are compared too.
        let cost = |(own, value): &(&str, &str)| {
            pin(own, value).len() + all.len().saturating_sub(key(own).len())
        };
        let Some((best, value)) = nodes.pins().take(MOST_PINS).min_by_key(cost) else {
            return [Box::new(all.iter().copied()), Box::new(std::iter::empty())];
        };
        let having = key(best);
        let rest = if having.len() == all.len() { &[] } else { all };
        let rest = rest.iter().filter(move |id| having.binary_search(id).is_err());
        [Box::new(pin(best, value).iter().copied()), Box::new(rest.copied())]
    }
}
