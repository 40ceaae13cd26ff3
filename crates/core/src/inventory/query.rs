use super::{
    file::{MOST_PINS, looks_at, rarest},
    index::Selecting,
    nodes::Wanted,
};
use crate::inventory::prelude::*;

/// The most nodes that are compared with the allowed nodes of an object.
const MOST_COMPARED: usize = 50_000;

impl Inventory {
    /// Returns the ids of all controllers that may share pods with this one, and possibly others. Each list is in
    /// ascending order.
    pub(crate) fn near(&self, item: &ObjectSummary, controller: &Controller) -> Vec<&[u32]> {
        let Some(selector) = &controller.selector else { return Vec::new() };
        let namespace = &*item.namespace;
        let filed = looks_at(controller)
            .map(|bucket| self.index.get(Key::Filed(Selecting::Controllers, namespace, bucket)));
        let looking = rarest(&self.index, namespace, selector).into_iter();
        let looking = looking.map(|bucket| self.index.get(Key::Looking(namespace, bucket)));
        filed.chain(looking).filter(|list| !list.is_empty()).collect()
    }

    /// Returns the PodDisruptionBudgets, or the Services that name ports, that may select pods with these labels, and
    /// possibly others.
    pub(crate) fn selecting(
        &self,
        selecting: Selecting,
        namespace: &str,
        labels: &Labels,
    ) -> impl Iterator<Item = &ObjectSummary> {
        let ids = labels.buckets().flat_map(move |bucket| {
            self.index.get(Key::Filed(selecting, namespace, bucket)).iter().copied()
        });
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.item(id))
    }

    pub(crate) fn selected_by<'a>(
        &'a self,
        namespace: &'a str,
        selector: &'a Selector,
    ) -> impl Iterator<Item = &'a ObjectSummary> {
        let buckets = rarest(&self.index, namespace, selector).into_iter();
        let ids = buckets.flat_map(move |bucket| self.index.get(Key::Looking(namespace, bucket)));
        ids.filter_map(|id| self.item(*id)).filter(move |item| {
            let controller = item.controller().filter(|_| item.namespace() == namespace);
            controller.is_some_and(|controller| selector.matches(&controller.labels))
        })
    }

    /// Returns whether `accepts` returns true for any of these nodes, or whether the search would take too long.
    pub(crate) fn has_node<'a>(
        &'a self,
        nodes: &Nodes,
        mut accepts: impl FnMut(&'a ObjectSummary, &'a Node) -> bool,
    ) -> bool {
        let mut left = MOST_COMPARED;
        nodes.alternatives().any(|alternative| {
            // It is enough to try the nodes that meet the rarest requirement.
            let lists = alternative.requirements().map(|wanted| self.candidates(&wanted));
            let count = |lists: &Vec<&[u32]>| lists.iter().map(|list| list.len()).sum::<usize>();
            let fewest = lists.min_by_key(count);
            let candidates = fewest.unwrap_or_else(|| vec![self.index.get(Key::Kind(Kind::Node))]);
            candidates.into_iter().flatten().any(|id| {
                left = left.saturating_sub(1);
                left == 0
                    || self.item(*id).is_some_and(|item| match &item.role {
                        Role::Node(node) => {
                            alternative.matches(item.name(), &node.labels) && accepts(item, node)
                        }
                        _ => false,
                    })
            })
        })
    }

    pub(crate) fn default_classes(&self) -> impl Iterator<Item = &ObjectSummary> {
        let ids = self.index.get(Key::DefaultClass).iter();
        let items = ids.filter_map(|id| self.item(*id));
        items.filter(|item| item.class().is_some_and(|class| class.is_default))
    }

    fn candidates(&self, wanted: &Wanted<'_>) -> Vec<&[u32]> {
        match wanted {
            Wanted::Name(name) => vec![self.index.get(Key::Object(Kind::Node, "", name))],
            Wanted::OneOf(label, values) => {
                values.iter().map(|value| self.index.get(Key::NodeLabel(label, value))).collect()
            }
            Wanted::Present(label) => vec![self.index.get(Key::NodeLabelled(label))],
        }
    }

    /// Returns the ids of all controllers that may use this port on one of these nodes, and possibly others, in two
    /// ascending lists.
    pub(crate) fn users_of_port<'a>(
        &'a self,
        wanted: &'a HostPort,
        nodes: &'a Nodes,
    ) -> [Box<dyn Iterator<Item = u32> + 'a>; 2] {
        let (port, protocol) = (wanted.port, &*wanted.protocol);
        let all = self.index.get(Key::Port(port, protocol));
        let key = |key: &str| self.index.get(Key::PortLabelled(port, protocol, key));
        let pin = |key: &str, value: &str| self.index.get(Key::PortPin(port, protocol, key, value));
        // Includes controllers without the label.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn node() -> impl Strategy<Value = Value> {
        let value = || prop::option::of(prop::sample::select(vec!["1", "2", "x"]));
        (0_u8..4, value(), value()).prop_map(|(name, a, b)| {
            let mut labels = serde_json::Map::new();
            for (key, value) in [("a", a), ("b", b)] {
                labels.extend(value.map(|value| (key.to_owned(), json!(value))));
            }
            let metadata = json!({"name": name.to_string(), "labels": labels});
            json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        })
    }

    fn term() -> impl Strategy<Value = Value> {
        let key = prop::sample::select(vec!["a", "b"]);
        let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
        let operator = prop::sample::select(operators.to_vec());
        let values = prop::collection::vec(prop::sample::select(vec!["1", "2", "x"]), 1..3);
        let one = (key, operator, values).prop_map(|(key, operator, mut values)| {
            match operator {
                "Exists" | "DoesNotExist" => values.clear(),
                "Gt" | "Lt" => values.truncate(1),
                _ => {}
            }
            json!({"key": key, "operator": operator, "values": values})
        });
        let name = prop::option::of(0_u8..4);
        (prop::collection::vec(one, 0..3), name).prop_map(|(expressions, name)| {
            let field = |name: u8| {
                json!({"key": "metadata.name", "operator": "In", "values": [name.to_string()]})
            };
            let fields: Vec<_> = name.map(field).into_iter().collect();
            json!({"matchExpressions": expressions, "matchFields": fields})
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_node_is_missed_by_looking_at_fewer(
            list in prop::collection::vec(node(), 0..5),
            selector in prop::option::of(prop::sample::select(vec!["1", "x"])),
            terms in prop::option::of(prop::collection::vec(term(), 1..3)),
        ) {
            let mut inventory = Inventory::default();
            for node in &list {
                inventory.put(ObjectSummary::of_json(&node.to_string()).unwrap());
            }
            let selector = selector.map(|value| json!({"a": value}));
            let required = terms.map(|terms| json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}));
            let pod = json!({"containers": [], "nodeSelector": selector, "affinity": required});
            let nodes = Nodes::of(&serde_json::from_value(pod).unwrap());
            let any = nodes.alternatives().any(|one| {
                inventory.items().any(|(_, item)| match &item.role {
                    Role::Node(node) => one.matches(item.name(), &node.labels),
                    _ => false,
                })
            });
            prop_assert_eq!(inventory.has_node(&nodes, |_, _| true), any);
        }
    }
}
