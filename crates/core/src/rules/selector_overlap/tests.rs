//! Tests that the indexes find the same overlaps as a comparison of all pairs.

use proptest::prelude::*;
use serde_json::{Value, json};

use std::collections::BTreeMap;

use super::*;
use crate::{
    inventory::{Inventory, read},
    rules::rule::inventory::Coverage,
};

fn object() -> impl Strategy<Value = Value> {
    let value = || prop::sample::select(vec!["x", "y", "z"]);
    let key = prop::sample::select(vec!["a", "b", "c"]);
    let labels = prop::collection::btree_map(key, value(), 1..4);
    let operator = prop::sample::select(vec!["=", "In", "NotIn", "Exists", "DoesNotExist", ""]);
    let operators = prop::collection::vec((operator, value()), 3);
    let kind = prop::sample::select(vec!["DaemonSet", "StatefulSet", "Deployment"]);
    let namespace = prop::sample::select(vec!["one", "two"]);
    (kind, namespace, labels, operators, 0_u8..4).prop_map(
        |(kind, namespace, labels, operators, name)| {
            let mut equal = serde_json::Map::new();
            let mut expressions = Vec::new();
            for (key, (operator, more)) in ["a", "b", "c"].into_iter().zip(operators) {
                let (operator, values) = match (operator, labels.get(key)) {
                    ("=", Some(value)) => {
                        equal.insert(key.to_owned(), json!(value));
                        continue;
                    }
                    ("In", Some(value)) => ("In", json!([more, value])),
                    ("NotIn", value) if value != Some(&more) => ("NotIn", json!([more])),
                    ("Exists", Some(_)) => ("Exists", json!([])),
                    ("DoesNotExist", None) => ("DoesNotExist", json!([])),
                    _ => continue,
                };
                expressions.push(json!({"key": key, "operator": operator, "values": values}));
            }
            json!({
                "apiVersion": "apps/v1", "kind": kind,
                "metadata": {"name": name.to_string(), "namespace": namespace},
                "spec": {
                    "selector": {"matchLabels": equal, "matchExpressions": expressions},
                    "template": {"metadata": {"labels": labels}},
                },
            })
        },
    )
}

fn brute_force(inventory: &Inventory) -> BTreeMap<usize, usize> {
    let mut first = BTreeMap::new();
    let items: Vec<_> = inventory.items().collect();
    for (later, item) in &items {
        for (earlier, other) in items.iter().filter(|(earlier, _)| earlier < later) {
            let (one, its) = (item.controller().unwrap(), other.controller().unwrap());
            let apart = item.is_same(other) || item.namespace() != other.namespace();
            if apart || Overlap::of(one, its).is_none() {
                continue;
            }
            let owner = match (item.is_set(), other.is_set()) {
                (true, _) => Some((*later, *earlier)),
                (false, true) => Some((*earlier, *later)),
                (false, false) => None,
            };
            if let Some((owner, with)) = owner {
                let known = first.entry(owner).or_insert(with);
                *known = with.min(*known);
            }
        }
    }
    first
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn nothing_is_missed_by_comparing_less(
        objects in prop::collection::vec(object(), 0..12),
    ) {
        let mut inventory = Inventory::default();
        for object in objects {
            inventory.add(read::tests::item(&object));
        }
        let cluster = crate::kubernetes::cluster::Cluster::default();
        let found = inventory.items().filter(|(_, item)| item.is_set()).filter_map(|(index, _)| {
            let coverage = Coverage::default();
            let query = Query::in_input(&inventory, index, &coverage, &cluster)?;
            Some((index, first_overlap(&query)?.0 as usize))
        });
        prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), brute_force(&inventory));
    }
}
