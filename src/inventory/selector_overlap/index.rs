//! Which selectors may overlap at all: only those are compared.
//!
//! Of two selectors that overlap, as [`Overlap`] means it, one can be found through any key that it
//! wants a value of: either the other's template labels have it, or the other's selector asks for
//! the same key. So each selector is put under the value (or the key) that the fewest pods have,
//! and the others look there.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{
        Inventory,
        item::{Controller, Item},
        labels::{Need, Selector},
    },
    Overlap,
};

/// The DaemonSets and StatefulSets that share pods with another, each with the first other in the
/// input. Of two such sets the later one counts.
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
    let mut first = BTreeMap::new();
    for members in namespaces.values() {
        if members.iter().any(|member| member.controller.is_judged) {
            let index = Index::of(members);
            for member in members {
                index.each_candidate(member, |other| compare(member, other, &mut first));
            }
        }
    }
    first
}

struct Member<'a> {
    place: usize,
    item: &'a Item,
    controller: &'a Controller,
    selector: &'a Selector,
}

/// Notes an overlap, unless one with an earlier object is noted already.
fn compare(one: &Member<'_>, other: &Member<'_>, first: &mut BTreeMap<usize, usize>) {
    let (earlier, later) = if one.place < other.place { (one, other) } else { (other, one) };
    let (owner, with) =
        if later.controller.is_judged { (later, earlier) } else { (earlier, later) };
    let is_news = first.get(&owner.place).is_none_or(|known| with.place < *known);
    if is_news
        && owner.controller.is_judged
        && !owner.item.is_same(with.item)
        && Overlap::of(owner.controller, with.controller).is_some()
    {
        first.insert(owner.place, with.place);
    }
}

/// The members of a namespace.
struct Index<'a> {
    members: &'a [Member<'a>],
    /// Those that want this value of this key.
    by_value: HashMap<(&'a str, &'a str), Vec<usize>>,
    /// Those that want any value of this key.
    by_key: HashMap<&'a str, Vec<usize>>,
    /// Those of both that are under this key.
    under: HashMap<&'a str, Vec<usize>>,
    /// Those that want no value of any key.
    rest: Vec<usize>,
}

impl<'a> Index<'a> {
    fn of(members: &'a [Member<'a>]) -> Self {
        let mut values: HashMap<(&str, &str), usize> = HashMap::new();
        let mut keys: HashMap<&str, usize> = HashMap::new();
        for (key, value) in members.iter().flat_map(|member| member.controller.labels.iter()) {
            *values.entry((key, value)).or_default() += 1;
            *keys.entry(key).or_default() += 1;
        }
        let count = |key, need: &Need| match need {
            Need::OneOf(list) => {
                Some(list.iter().filter_map(|value| values.get(&(key, &**value))).sum())
            }
            Need::Present(_) => Some(keys.get(key).copied().unwrap_or_default()),
            Need::NotIn(_) | Need::Absent => None,
        };
        let mut index = Index {
            members,
            by_value: HashMap::new(),
            by_key: HashMap::new(),
            under: HashMap::new(),
            rest: Vec::new(),
        };
        for (i, member) in members.iter().enumerate() {
            let needs = member.selector.needs();
            let wanted = needs.filter_map(|(key, need)| Some((count(key, need)?, key, need)));
            match wanted.min_by_key(|(count, ..)| *count) {
                Some((_, key, Need::OneOf(list))) => {
                    for value in list {
                        index.by_value.entry((key, value)).or_default().push(i);
                    }
                    index.under.entry(key).or_default().push(i);
                }
                Some((_, key, _)) => {
                    index.by_key.entry(key).or_default().push(i);
                    index.under.entry(key).or_default().push(i);
                }
                None => index.rest.push(i),
            }
        }
        index
    }

    /// Calls `see` with all members that may overlap with one, some more than once.
    fn each_candidate(&self, member: &Member<'a>, mut see: impl FnMut(&Member<'a>)) {
        let mut all = |list: Option<&Vec<usize>>| {
            list.into_iter().flatten().filter_map(|i| self.members.get(*i)).for_each(&mut see);
        };
        for (key, value) in member.controller.labels.iter() {
            all(self.by_value.get(&(key, value)));
            all(self.by_key.get(key));
        }
        for (key, need) in member.selector.needs() {
            match need {
                Need::OneOf(list) => {
                    for value in list {
                        all(self.by_value.get(&(key, &**value)));
                    }
                }
                Need::Present(_) | Need::NotIn(_) => all(self.under.get(key)),
                Need::Absent => {}
            }
        }
        all(Some(&self.rest));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{super::super::read, *};

    /// A controller of a kind, with a selector that its template meets.
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
                let owner = match (one.is_judged, its.is_judged) {
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
