//! Finds the selectors that may overlap, so that only those are compared.
//!
//! If two selectors overlap in the sense of [`Overlap`], one of them can be found through any key
//! for which it requires a value: either the other's template labels have that key, or the other's
//! selector has it too. So each selector is filed under the value (or the key) that the fewest pods
//! have, and the others search there.

use std::collections::{BTreeMap, HashMap};

use super::overlap::Overlap;
use crate::inventory::{
    Inventory,
    item::{Controller, Item},
    labels::{Need, Selector},
};

/// The DaemonSets and StatefulSets that share pods with another controller, each with the first
/// such controller in the input. If both are DaemonSets or StatefulSets, only the later one is
/// included.
pub(super) fn overlaps(inventory: &Inventory) -> BTreeMap<usize, usize> {
    let mut namespaces: HashMap<&str, Vec<Member<'_>>> = HashMap::new();
    for (place, item) in inventory.items() {
        if let Some(controller) = item.controller()
            && let Some(selector) = &controller.selector
        {
            let member = Member { place, item, controller, selector };
            namespaces.entry(item.namespace()).or_default().push(member);
        }
    }
    let mut overlaps = BTreeMap::new();
    for members in namespaces.values() {
        let index = Index::of(members);
        for member in members.iter().filter(|member| member.controller.is_set) {
            overlaps.extend(index.first_overlap(member).map(|other| (member.place, other)));
        }
    }
    overlaps
}

struct Member<'a> {
    place: usize,
    item: &'a Item,
    controller: &'a Controller,
    selector: &'a Selector,
}

/// A place where selectors are filed, and where others search.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Bucket<'a> {
    /// Selectors that require this value of this key.
    Value(&'a str, &'a str),
    /// Selectors that require any value of this key.
    AnyValue(&'a str),
    /// All selectors of the first two buckets with this key.
    Key(&'a str),
    /// Selectors that require no value of any key.
    Rest,
}

/// An index of the members of a namespace.
struct Index<'a> {
    members: &'a [Member<'a>],
    counts: Counts<'a>,
    /// The members filed on each bucket, in the order of the input.
    put: HashMap<Bucket<'a>, Vec<usize>>,
    /// The members that search each bucket, in the order of the input.
    looking: HashMap<Bucket<'a>, Vec<usize>>,
}

impl<'a> Index<'a> {
    fn of(members: &'a [Member<'a>]) -> Self {
        let counts = Counts::of(members);
        let mut index = Index { members, counts, put: HashMap::new(), looking: HashMap::new() };
        for (i, member) in members.iter().enumerate() {
            for bucket in index.counts.buckets(member) {
                index.put.entry(bucket).or_default().push(i);
            }
            for bucket in looks_at(member) {
                index.looking.entry(bucket).or_default().push(i);
            }
        }
        index
    }

    /// The place of the first other member that overlaps with this one, if this one is reported.
    fn first_overlap(&self, member: &Member<'a>) -> Option<usize> {
        let found = looks_at(member).into_iter().filter_map(|bucket| self.put.get(&bucket));
        let finding = self.counts.buckets(member).into_iter();
        let finding = finding.filter_map(|bucket| self.looking.get(&bucket));
        let mut first = None;
        for list in found.chain(finding) {
            let others = list.iter().filter_map(|i| self.members.get(*i));
            let mut others =
                others.take_while(|other| first.is_none_or(|known| other.place < known));
            let hit = others.find(|other| member.answers_for(other));
            first = hit.map(|other| other.place).or(first);
        }
        first
    }
}

impl Member<'_> {
    fn answers_for(&self, other: &Member<'_>) -> bool {
        (other.place < self.place || !other.controller.is_set)
            && !self.item.is_same(other.item)
            && Overlap::of(self.controller, other.controller).is_some()
    }
}

/// How many members of a namespace have each label, and each key, on their pods.
struct Counts<'a> {
    values: HashMap<(&'a str, &'a str), usize>,
    keys: HashMap<&'a str, usize>,
}

impl<'a> Counts<'a> {
    fn of(members: &'a [Member<'a>]) -> Self {
        let mut counts = Counts { values: HashMap::new(), keys: HashMap::new() };
        for (key, value) in members.iter().flat_map(|member| member.controller.labels.iter()) {
            *counts.values.entry((key, value)).or_default() += 1;
            *counts.keys.entry(key).or_default() += 1;
        }
        counts
    }

    /// How many members have pods that meet this need; `None` if the need requires no value.
    fn count(&self, key: &str, need: &Need) -> Option<usize> {
        match need {
            Need::OneOf(list) => {
                let counts = list.iter().filter_map(|value| self.values.get(&(key, &**value)));
                Some(counts.sum())
            }
            Need::Present { .. } => Some(self.keys.get(key).copied().unwrap_or_default()),
            Need::NotIn(_) | Need::Absent | Need::Nothing => None,
        }
    }

    /// The buckets on which a selector is filed.
    fn buckets<'m>(&self, member: &Member<'m>) -> Vec<Bucket<'m>> {
        let needs = member.selector.needs();
        let wanted = needs.filter_map(|(key, need)| Some((self.count(key, need)?, key, need)));
        match wanted.min_by_key(|(count, ..)| *count) {
            Some((_, key, Need::OneOf(list))) => {
                let values = list.iter().map(|value| Bucket::Value(key, value));
                values.chain([Bucket::Key(key)]).collect()
            }
            Some((_, key, _)) => vec![Bucket::AnyValue(key), Bucket::Key(key)],
            None => vec![Bucket::Rest],
        }
    }
}

/// The buckets that a member searches for others that it may overlap with.
fn looks_at<'m>(member: &Member<'m>) -> Vec<Bucket<'m>> {
    let labels = member.controller.labels.iter();
    let labels = labels.flat_map(|(key, value)| [Bucket::Value(key, value), Bucket::AnyValue(key)]);
    let mut buckets: Vec<_> = labels.collect();
    for (key, need) in member.selector.needs() {
        match need {
            Need::OneOf(list) => buckets.extend(list.iter().map(|v| Bucket::Value(key, v))),
            Need::Present { .. } | Need::NotIn(_) => buckets.push(Bucket::Key(key)),
            Need::Absent | Need::Nothing => {}
        }
    }
    buckets.push(Bucket::Rest);
    buckets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::inventory::read;

    /// A controller of some kind, with a selector that matches its template.
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

    /// All pairs, one by one.
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
                let owner = match (one.is_set, its.is_set) {
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
            prop_assert_eq!(overlaps(&inventory), brute_force(&inventory));
        }
    }
}
