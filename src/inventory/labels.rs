//! Compact labels and selectors: what a selector requires of each key, and whether one set of
//! labels can meet two selectors.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::kubernetes::{
    allowed::{Allowed, Test},
    selector,
};

/// Labels, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// Compact copies of labels.
    pub(crate) fn of(labels: Option<&BTreeMap<String, String>>) -> Self {
        let pairs = labels.into_iter().flatten();
        Labels(pairs.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect())
    }

    /// The value of a label.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let i = self.0.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
        self.0.get(i).map(|(_, value)| &**value)
    }

    /// All labels, sorted by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
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

/// What a selector requires of one key, with all its requirements combined.
pub(crate) type Need = Allowed<Box<str>>;

/// A value that meets a need; `None` if the label can be left out.
fn example(need: &Need) -> Option<Box<str>> {
    match need {
        Need::OneOf(values) => values.first().cloned(),
        Need::Present { not, .. } => {
            let numbered = (1..).map(|i| format!("any-{i}").into());
            // Only a finite number of values is excluded, so this ends.
            std::iter::once("any".into()).chain(numbered).find(|value| !not.contains(value))
        }
        Need::NotIn(_) | Need::Absent | Need::Nothing => None,
    }
}

/// A selector that some labels meet: what it requires of each key, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Box<[(Box<str>, Need)]>);

impl Selector {
    /// What a label selector requires. `None` if the API server refuses it, if it is empty, or if
    /// it contradicts itself.
    pub(crate) fn of(selector: &LabelSelector) -> Option<Self> {
        if !selector::parses(selector) || selector::is_empty(selector) {
            return None;
        }
        let labels = selector.match_labels.iter().flatten();
        let labels = labels.map(|(key, value)| (key, Test::Is(value)));
        let expressions = selector.match_expressions.iter().flatten().map(|requirement| {
            let values = requirement.values.as_deref().unwrap_or_default();
            let test = match requirement.operator.as_str() {
                "In" => Test::OneOf(values),
                "NotIn" => Test::NoneOf(values),
                "Exists" => Test::Present,
                _ => Test::Absent,
            };
            (&requirement.key, test)
        });
        let mut tests: BTreeMap<&str, Vec<Test<'_>>> = BTreeMap::new();
        for (key, test) in labels.chain(expressions) {
            tests.entry(key).or_default().push(test);
        }
        let needs = tests.into_iter().map(|(key, tests)| match Need::by(tests) {
            Need::Nothing => None,
            need => Some((key.into(), need)),
        });
        needs.collect::<Option<_>>().map(Selector)
    }

    /// What a plain map of labels requires; `None` if it is empty.
    pub(crate) fn of_map(labels: Option<&BTreeMap<String, String>>) -> Option<Self> {
        let match_labels = labels.cloned();
        Selector::of(&LabelSelector { match_labels, match_expressions: None })
    }

    /// Whether labels meet it.
    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(key, need)| need.contains(labels.get(key)))
    }

    /// Labels that meet both selectors; `None` if there are none.
    pub(crate) fn common(&self, other: &Selector) -> Option<Labels> {
        let mut labels = BTreeMap::new();
        for (key, need) in &self.0 {
            let both = match other.need(key) {
                Some(its) => need.and(its),
                None => need.clone(),
            };
            if both == Need::Nothing {
                return None;
            }
            labels.extend(example(&both).map(|value| (key.clone(), value)));
        }
        for (key, need) in other.0.iter().filter(|(key, _)| self.need(key).is_none()) {
            labels.extend(example(need).map(|value| (key.clone(), value)));
        }
        Some(Labels(labels.into_iter().collect()))
    }

    /// Whether the other selector has requirements for all keys of this one.
    pub(crate) fn keys_are_subset_of(&self, other: &Selector) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().all(|(key, _)| other.need(key).is_some())
    }

    /// What it requires of each key.
    pub(crate) fn needs(&self) -> impl Iterator<Item = (&str, &Need)> {
        self.0.iter().map(|(key, need)| (&**key, need))
    }

    fn need(&self, key: &str) -> Option<&Need> {
        let i = self.0.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
        self.0.get(i).map(|(_, need)| need)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const KEYS: [&str; 2] = ["a", "b"];
    const WRITTEN: [&str; 3] = ["x", "y", "any"];
    /// What a label can be: absent, as written in some selector, or anything else.
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
                    let pairs = pairs.into_iter().filter_map(|(k, v)| Some((k.into(), v?.into())));
                    Labels(pairs.collect())
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
