//! Compact labels and selectors. Determines whether one set of labels can match two selectors.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::inventory::prelude::*;
use crate::kubernetes::{
    allowed::{Allowed, Test},
    selector,
};

/// The key, [`SEPARATOR`] and the value. One string takes half the memory of two and sorts the same.
pub(crate) type Label = Arc<str>;

/// No key of a label contains this character.
const SEPARATOR: char = '\0';

/// The approximate overhead of an allocation, in bytes.
pub(crate) const ALLOCATION: usize = 16;

pub(crate) fn split(label: &str) -> (&str, &str) {
    label.split_once(SEPARATOR).unwrap_or((label, ""))
}

/// Sorted by key. Objects with equal labels share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Box<[Label]>);

impl Labels {
    pub(crate) fn of(labels: Option<&BTreeMap<String, String>>) -> Self {
        let pairs = labels.into_iter().flatten();
        pairs.map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let i = self.0.binary_search_by(|own| split(own).0.cmp(key)).ok()?;
        self.0.get(i).map(|label| split(label).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|label| split(label))
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket<'_>> {
        let of = |(key, value)| [Bucket::Value(key, value), Bucket::AnyValue(key)];
        self.iter().flat_map(of).chain([Bucket::Rest])
    }

    /// Replaces labels with equal ones that `same` finds, to share memory. Returns the approximate bytes of the
    /// remaining labels.
    pub(crate) fn share(&mut self, same: &dyn Fn(&str) -> Option<Label>) -> usize {
        let mut bytes = 0;
        for label in &mut self.0 {
            match same(label) {
                Some(same) => *label = same,
                None => bytes += label.len() + 2 * ALLOCATION,
            }
        }
        bytes
    }

    pub(crate) fn same(&self, label: &str) -> Option<&Label> {
        let i = self.0.binary_search_by(|own| (**own).cmp(label)).ok()?;
        self.0.get(i)
    }

    /// The approximate bytes of the list, without the labels.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len() * size_of::<Label>() + ALLOCATION
    }
}

/// The labels must be sorted by key.
impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(labels: T) -> Self {
        let label = |(key, value): (K, V)| {
            [key.as_ref(), SEPARATOR.encode_utf8(&mut [0]), value.as_ref()].concat().into()
        };
        Labels(labels.into_iter().map(label).collect())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bucket<'a> {
    /// The selectors that require this value of this key.
    Value(&'a str, &'a str),
    /// The selectors that require any value of this key.
    AnyValue(&'a str),
    /// All selectors of the first two buckets with this key.
    Key(&'a str),
    /// The selectors that require no value of any key.
    Rest,
}

pub(crate) type Need = Allowed<Box<str>>;

/// Returns a value that meets a need; `None` if the label can be absent.
fn example(need: &Need) -> Option<Box<str>> {
    match need {
        Need::OneOf(values) => values.first().cloned(),
        Need::Present { not, .. } => {
            let numbered = (1..).map(|i| format!("any-{i}").into());
            // Only finitely many values are excluded, so the search ends.
            std::iter::once("any".into()).chain(numbered).find(|value| !not.contains(value))
        }
        Need::NotIn(_) | Need::Absent | Need::Nothing => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// Requires these labels, as nearly all selectors do.
    Labels(Labels),
    /// The requirements for each key, sorted by key.
    Needs(Box<[(Box<str>, Need)]>),
}

impl Selector {
    /// Returns `None` if the API server rejects the selector, or if the selector is empty or contradicts itself.
    pub(crate) fn of(selector: &LabelSelector) -> Option<Self> {
        if selector::is_empty(selector) { None } else { Selector::of_any(selector) }
    }

    /// Like [`of`](Self::of), but an empty selector matches everything.
    pub(crate) fn of_any(selector: &LabelSelector) -> Option<Self> {
        if !selector::parses(selector) {
            return None;
        }
        if selector.match_expressions.as_ref().is_none_or(Vec::is_empty) {
            return Some(Selector::Labels(Labels::of(selector.match_labels.as_ref())));
        }
        let labels = selector.match_labels.iter().flatten();
        let labels = labels.map(|(key, value)| (key, Test::Is(value)));
        let expressions = list(&selector.match_expressions).iter();
        let expressions =
            expressions.filter_map(|it| Some((&it.key, Test::of(&it.operator, list(&it.values))?)));
        let mut tests: BTreeMap<&str, Vec<Test<'_>>> = BTreeMap::new();
        for (key, test) in labels.chain(expressions) {
            tests.entry(key).or_default().push(test);
        }
        let needs = tests.into_iter().map(|(key, tests)| match Need::by(tests) {
            Need::Nothing => None,
            need => Some((key.into(), need)),
        });
        needs.collect::<Option<_>>().map(Selector::Needs)
    }

    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        match self {
            Selector::Labels(wanted) => {
                wanted.0.len() <= labels.0.len()
                    && wanted.0.iter().all(|it| labels.same(it).is_some())
            }
            Selector::Needs(needs) => {
                needs.iter().all(|(key, need)| need.contains(labels.get(key)))
            }
        }
    }

    /// Returns labels that match both selectors; `None` if none do.
    pub(crate) fn common(&self, other: &Selector) -> Option<Labels> {
        let mut labels: BTreeMap<Box<str>, Box<str>> = BTreeMap::new();
        for (key, need) in self.needs() {
            let both = match other.need(key) {
                Some(its) => need.and(&its),
                None => need.into_owned(),
            };
            if both == Need::Nothing {
                return None;
            }
            labels.extend(example(&both).map(|value| (key.into(), value)));
        }
        for (key, need) in other.needs().filter(|(key, _)| !self.has(key)) {
            labels.extend(example(&need).map(|value| (key.into(), value)));
        }
        Some(labels.into_iter().collect())
    }

    pub(crate) fn keys_are_subset_of(&self, other: &Selector) -> bool {
        self.len() <= other.len() && self.needs().all(|(key, _)| other.has(key))
    }

    pub(crate) fn needs(&self) -> Box<dyn Iterator<Item = (&str, Cow<'_, Need>)> + '_> {
        match self {
            Selector::Labels(labels) => {
                Box::new(labels.iter().map(|(key, value)| (key, Cow::Owned(is(value)))))
            }
            Selector::Needs(needs) => {
                Box::new(needs.iter().map(|(key, need)| (&**key, Cow::Borrowed(need))))
            }
        }
    }

    fn need(&self, key: &str) -> Option<Cow<'_, Need>> {
        match self {
            Selector::Labels(labels) => labels.get(key).map(|value| Cow::Owned(is(value))),
            Selector::Needs(needs) => {
                let i = needs.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
                needs.get(i).map(|(_, need)| Cow::Borrowed(need))
            }
        }
    }

    fn has(&self, key: &str) -> bool {
        match self {
            Selector::Labels(labels) => labels.get(key).is_some(),
            Selector::Needs(_) => self.need(key).is_some(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Selector::Labels(labels) => labels.0.len(),
            Selector::Needs(needs) => needs.len(),
        }
    }

    /// Returns alternative places to file the selector. Every object whose pods it matches or may share looks into each
    /// of these places.
    pub(crate) fn places(&self) -> Vec<Vec<Bucket<'_>>> {
        let places: Vec<_> = match self {
            Selector::Labels(labels) => {
                let place = |(key, value)| vec![Bucket::Value(key, value), Bucket::Key(key)];
                labels.iter().map(place).collect()
            }
            Selector::Needs(needs) => {
                needs.iter().filter_map(|(key, need)| place_of(key, need)).collect()
            }
        };
        if places.is_empty() { vec![vec![Bucket::Rest]] } else { places }
    }

    /// Returns the buckets of selectors that may share pods with this one, in addition to [`Labels::buckets`].
    pub(crate) fn buckets(&self) -> Vec<Bucket<'_>> {
        match self {
            Selector::Labels(labels) => {
                labels.iter().map(|(key, value)| Bucket::Value(key, value)).collect()
            }
            Selector::Needs(needs) => {
                let mut buckets = Vec::new();
                for (key, need) in needs {
                    match need {
                        Need::OneOf(list) => {
                            buckets.extend(list.iter().map(|value| Bucket::Value(key, value)));
                        }
                        Need::Present { .. } | Need::NotIn(_) => buckets.push(Bucket::Key(key)),
                        Need::Absent | Need::Nothing => {}
                    }
                }
                buckets
            }
        }
    }

    pub(crate) fn share(&mut self, same: &dyn Fn(&str) -> Option<Label>) -> usize {
        match self {
            Selector::Labels(labels) => labels.share(same),
            Selector::Needs(_) => 0,
        }
    }

    /// The approximate bytes of the selector's heap memory, without the labels.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Selector::Labels(labels) => labels.bytes(),
            Selector::Needs(needs) => needs.len() * (size_of::<(Box<str>, Need)>() + 64),
        }
    }
}

fn place_of<'a>(key: &'a str, need: &'a Need) -> Option<Vec<Bucket<'a>>> {
    match need {
        Need::OneOf(list) => {
            let values = list.iter().map(|value| Bucket::Value(key, value));
            Some(values.chain([Bucket::Key(key)]).collect())
        }
        Need::Present { .. } => Some(vec![Bucket::AnyValue(key), Bucket::Key(key)]),
        Need::NotIn(_) | Need::Absent | Need::Nothing => None,
    }
}

fn is(value: &str) -> Need {
    Need::OneOf(Box::new([value.into()]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const KEYS: [&str; 2] = ["a", "b"];
    const WRITTEN: [&str; 3] = ["x", "y", "any"];
    /// The possible values of a label: absent, one from a selector, or any other.
    const VALUES: [Option<&str>; 5] = [None, Some("x"), Some("y"), Some("any"), Some("other")];

    fn expression() -> impl Strategy<Value = Value> {
        let key = prop::sample::select(KEYS.to_vec());
        let values = prop::collection::vec(prop::sample::select(WRITTEN.to_vec()), 1..4);
        let operator = prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist"]);
        (key, operator, values).prop_map(|(key, operator, values)| match operator {
            "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
            _ => json!({"key": key, "operator": operator, "values": values}),
        })
    }

    fn label_selector() -> impl Strategy<Value = LabelSelector> {
        let key = prop::sample::select(KEYS.to_vec());
        let labels = prop::collection::btree_map(key, prop::sample::select(WRITTEN.to_vec()), 0..2);
        (labels, prop::collection::vec(expression(), 0..4)).prop_map(|(labels, expressions)| {
            let json = json!({"matchLabels": labels, "matchExpressions": expressions});
            serde_json::from_value(json).unwrap()
        })
    }

    fn meets(wanted: &LabelSelector, labels: &Labels) -> bool {
        selector::matches(wanted, |key| labels.get(key))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn agrees_with_trying_all_labels(one in label_selector(), other in label_selector()) {
            let universe: Vec<Labels> = VALUES
                .into_iter()
                .flat_map(|a| VALUES.into_iter().map(move |b| [("a", a), ("b", b)]))
                .map(|pairs| {
                    let pairs = pairs.into_iter().filter_map(|(k, v)| Some((k, v?)));
                    pairs.collect::<Labels>()
                })
                .collect();
            let any = |test: &dyn Fn(&Labels) -> bool| universe.iter().any(test);
            let (compact, its) = (Selector::of(&one), Selector::of(&other));
            let can_be_met = !selector::is_empty(&one) && any(&|labels| meets(&one, labels));
            prop_assert_eq!(compact.is_some(), can_be_met);
            let (Some(compact), Some(its)) = (compact, its) else { return Ok(()) };
            for labels in &universe {
                prop_assert_eq!(compact.matches(labels), meets(&one, labels), "{}", labels);
            }
            let common = compact.common(&its);
            let both = any(&|labels| meets(&one, labels) && meets(&other, labels));
            prop_assert_eq!(common.is_some(), both);
            if let Some(labels) = common {
                prop_assert!(meets(&one, &labels) && meets(&other, &labels), "{}", labels);
            }
        }
    }
}
