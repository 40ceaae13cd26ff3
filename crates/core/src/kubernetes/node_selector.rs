//! Whether a node, a node with a given name, or any node at all can match a node selector term.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::{Affinity, NodeSelectorRequirement, NodeSelectorTerm};

use super::{
    absent::list,
    allowed::{Allowed, Test},
};

/// The only field of a node that a term can match.
pub(crate) const NAME: &str = "metadata.name";

pub(crate) fn required_terms(affinity: Option<&Affinity>) -> Option<&[NodeSelectorTerm]> {
    let nodes = affinity?.node_affinity.as_ref()?;
    let required = nodes.required_during_scheduling_ignored_during_execution.as_ref()?;
    Some(&required.node_selector_terms)
}

/// Returns why no node, or no node with this name, can match both a `nodeSelector` and a term; `None` if one can. Ignores
/// requirements that the API server rejects.
///
/// Kubernetes: `RequiredNodeAffinity.Match` and `isEmptyNodeSelectorTerm`, component-helpers
/// scheduling/corev1/nodeaffinity/nodeaffinity.go.
pub fn why_not(
    node_selector: Option<&BTreeMap<String, String>>,
    term: &NodeSelectorTerm,
    node: Option<&str>,
) -> Option<String> {
    if is_empty(term) {
        return Some("an empty term matches no node".to_owned());
    }
    let mut labels: BTreeMap<&str, Vec<Constraint<'_>>> = BTreeMap::new();
    for (key, value) in node_selector.into_iter().flatten() {
        labels.entry(key).or_default().push(Constraint::is(key, value));
    }
    for requirement in list(&term.match_expressions) {
        labels.entry(&requirement.key).or_default().extend(Constraint::expression(requirement));
    }
    let mut names: Vec<_> = list(&term.match_fields).iter().filter_map(Constraint::field).collect();
    names.extend(node.map(|node| Constraint::is(NAME, node)));
    let names = std::iter::once(names).filter(|names| !names.is_empty());
    labels.into_values().chain(names).find_map(|constraints| explain_conflict(&constraints))
}

pub(crate) fn is_empty(term: &NodeSelectorTerm) -> bool {
    list(&term.match_expressions).is_empty() && list(&term.match_fields).is_empty()
}

/// Ignores requirements that the API server rejects. Kubernetes: see [`why_not`].
pub(crate) fn matches<'l>(
    term: &NodeSelectorTerm,
    name: &'l str,
    label: impl Fn(&str) -> Option<&'l str>,
) -> bool {
    let mut labels = list(&term.match_expressions).iter().filter_map(Constraint::expression);
    let mut names = list(&term.match_fields).iter().filter_map(Constraint::field);
    !is_empty(term)
        && labels.all(|constraint| constraint.test.holds(label(constraint.key)))
        && names.all(|constraint| constraint.test.holds(Some(name)))
}

#[derive(Clone, Copy)]
struct Constraint<'a> {
    test: Test<'a>,
    key: &'a str,
    /// `None` for an entry of a `nodeSelector` and for a node's name.
    written: Option<&'a NodeSelectorRequirement>,
}

impl<'a> Constraint<'a> {
    const fn is(key: &'a str, value: &'a str) -> Self {
        Constraint { test: Test::Is(value), key, written: None }
    }

    /// Kubernetes: `NewRequirement`, apimachinery pkg/labels/selector.go.
    fn expression(requirement: &'a NodeSelectorRequirement) -> Option<Self> {
        let values = requirement.values.as_deref().unwrap_or_default();
        let number = |test: fn(i64) -> Test<'a>| match values {
            [value] => Some(value.parse().map_or(Test::Never, test)),
            _ => None,
        };
        let test = match requirement.operator.as_str() {
            "In" if values.is_empty() => return None,
            "Gt" => number(Test::Above)?,
            "Lt" => number(Test::Below)?,
            operator => Test::of(operator, values)?,
        };
        Some(Constraint { test, key: &requirement.key, written: Some(requirement) })
    }

    /// Kubernetes: `nodeSelectorRequirementsAsFieldSelector`, in the file that [`why_not`] names.
    fn field(requirement: &'a NodeSelectorRequirement) -> Option<Self> {
        let values @ [_] = requirement.values.as_deref()? else { return None };
        let is_of_name =
            requirement.key == NAME && ["In", "NotIn"].contains(&&*requirement.operator);
        let test = Test::of(&requirement.operator, values).filter(|_| is_of_name)?;
        Some(Constraint { test, key: NAME, written: Some(requirement) })
    }
}

impl fmt::Display for Constraint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.written, self.test) {
            (Some(written), _) => {
                write!(f, "{} {}", written.key, written.operator)?;
                match written.values.as_deref() {
                    None | Some([]) => Ok(()),
                    Some(values) => write!(f, " [{}]", values.join(", ")),
                }
            }
            (None, Test::Is(value)) => write!(f, "{}={value}", self.key),
            (None, _) => f.write_str(self.key),
        }
    }
}

/// How many other requirements the search for a contradiction looks at.
const MOST_COMPARED: usize = 100;

fn explain_conflict(constraints: &[Constraint<'_>]) -> Option<String> {
    if can_be_met(constraints) {
        return None;
    }
    if let Some(constraint) = constraints.iter().find(|constraint| !can_be_met(&[**constraint])) {
        let why = match constraint.test {
            Test::Never => "compares with a value that is not a whole number",
            _ => "matches no value that a label can have",
        };
        return Some(format!("{constraint} {why}"));
    }
    // The culprit is the last constraint of the shortest prefix that cannot be met.
    let lengths: Vec<usize> = (1..=constraints.len()).collect();
    let shortest = lengths.partition_point(|length| can_be_met(&constraints[..*length]));
    let (last, before) = constraints.get(..=shortest).unwrap_or(constraints).split_last()?;
    let mut others = before.iter().take(MOST_COMPARED);
    if let Some(other) = others.find(|other| !can_be_met(&[**other, *last])) {
        return Some(format!("{other} and {last} exclude each other"));
    }
    let all: Vec<_> = before.iter().chain([last]).map(ToString::to_string).collect();
    Some(format!("{} exclude each other", all.join(", ")))
}

/// One value, or the absence of the label, must pass all tests.
fn can_be_met(constraints: &[Constraint<'_>]) -> bool {
    Allowed::<Box<str>>::by(constraints.iter().map(|constraint| constraint.test))
        != Allowed::Nothing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn term(json: Value) -> NodeSelectorTerm {
        serde_json::from_value(json).unwrap()
    }

    fn labels(json: Value) -> BTreeMap<String, String> {
        serde_json::from_value(json).unwrap()
    }

    fn why_not(
        labels: Option<&BTreeMap<String, String>>,
        term: &NodeSelectorTerm,
    ) -> Option<String> {
        super::why_not(labels, term, None)
    }

    #[test]
    fn the_fewest_culprits_are_named() {
        let expressions = |list: Value| term(json!({"matchExpressions": list}));
        let disk = expressions(json!([
            {"key": "zone", "operator": "Exists"},
            {"key": "disk", "operator": "NotIn", "values": ["ssd", "nvme"]},
        ]));
        assert_eq!(
            why_not(Some(&labels(json!({"disk": "ssd", "zone": "a"}))), &disk).unwrap(),
            "disk=ssd and disk NotIn [ssd, nvme] exclude each other"
        );
        assert_eq!(why_not(Some(&labels(json!({"disk": "hdd"}))), &disk), None);
        let cores = expressions(json!([{"key": "cores", "operator": "Gt", "values": ["8Gi"]}]));
        assert_eq!(
            why_not(None, &cores).unwrap(),
            "cores Gt [8Gi] compares with a value that is not a whole number"
        );
        let below = expressions(json!([{"key": "cores", "operator": "Lt", "values": ["0"]}]));
        assert_eq!(
            why_not(None, &below).unwrap(),
            "cores Lt [0] matches no value that a label can have"
        );
        let three = expressions(json!([
            {"key": "a", "operator": "In", "values": ["x", "y"]},
            {"key": "a", "operator": "NotIn", "values": ["x"]},
            {"key": "a", "operator": "NotIn", "values": ["y"]},
        ]));
        assert_eq!(
            why_not(None, &three).unwrap(),
            "a In [x, y], a NotIn [x], a NotIn [y] exclude each other"
        );
        assert_eq!(why_not(None, &term(json!({}))).unwrap(), "an empty term matches no node");
    }

    #[test]
    fn bounds_at_the_end_of_the_numbers_do_not_overflow() {
        for (operator, value, met) in [
            ("Gt", i64::MAX, false),
            ("Gt", i64::MAX - 1, true),
            ("Gt", i64::MIN, true),
            ("Lt", i64::MIN, false),
            ("Lt", i64::MAX, true),
            ("Lt", 1, true),
        ] {
            let term = term(json!({"matchExpressions": [
                {"key": "a", "operator": operator, "values": [value.to_string()]}]}));
            assert_eq!(why_not(None, &term).is_none(), met, "{operator} {value}");
        }
    }

    // A small universe: two labels, each with a few values and some that no requirement contains, and three node names.
    const WRITTEN: [&str; 6] = ["x", "y", "1", "2", "3", "02"];
    const VALUES: [&str; 12] =
        ["x", "y", "other", "0", "1", "2", "3", "02", "4", "0001", "0002", "0003"];
    const NAMES: [&str; 3] = ["n0", "n1", "other"];

    /// As the API documentation describes a requirement.
    fn holds(requirement: &NodeSelectorRequirement, actual: Option<&str>) -> bool {
        let values = requirement.values.clone().unwrap_or_default();
        let compare = |wanted: std::cmp::Ordering| {
            let number = actual.and_then(|actual| actual.parse::<i64>().ok());
            number.zip(values[0].parse().ok()).is_some_and(|(a, b)| a.cmp(&b) == wanted)
        };
        let listed = values.iter().any(|value| Some(value.as_str()) == actual);
        match requirement.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => actual.is_some(),
            "DoesNotExist" => actual.is_none(),
            "Gt" => compare(std::cmp::Ordering::Greater),
            _ => compare(std::cmp::Ordering::Less),
        }
    }

    fn brute_force(
        selector: &BTreeMap<String, String>,
        term: &NodeSelectorTerm,
        name: &str,
    ) -> bool {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        let values: Vec<Option<&str>> =
            std::iter::once(None).chain(VALUES.into_iter().map(Some)).collect();
        (!expressions.is_empty() || !fields.is_empty())
            && fields.iter().all(|field| holds(field, Some(name)))
            && values.iter().any(|a| {
                values.iter().any(|b| {
                    let label = |key: &str| if key == "a" { *a } else { *b };
                    selector.iter().all(|(key, value)| label(key) == Some(value))
                        && expressions.iter().all(|e| holds(e, label(&e.key)))
                })
            })
    }

    fn expression() -> impl Strategy<Value = Value> {
        let key = prop::sample::select(vec!["a", "b"]);
        let value = || prop::sample::select(WRITTEN.to_vec());
        let values = prop::collection::vec(value(), 1..4);
        let operator =
            prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
        (key, operator, values).prop_map(|(key, operator, values)| match operator {
            "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
            "Gt" | "Lt" => json!({"key": key, "operator": operator, "values": [values[0]]}),
            _ => json!({"key": key, "operator": operator, "values": values}),
        })
    }

    fn field() -> impl Strategy<Value = Value> {
        let operator = prop::sample::select(vec!["In", "NotIn"]);
        (operator, prop::sample::select(vec!["n0", "n1"])).prop_map(|(operator, name)| {
            json!({"key": "metadata.name", "operator": operator, "values": [name]})
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn agrees_with_trying_every_node(
            expressions in prop::collection::vec(expression(), 0..5),
            fields in prop::collection::vec(field(), 0..3),
            selector in prop::collection::btree_map(
                prop::sample::select(vec!["a".to_owned(), "b".to_owned()]),
                prop::sample::select(WRITTEN.map(str::to_owned).to_vec()),
                0..2,
            ),
        ) {
            let term = term(json!({"matchExpressions": expressions, "matchFields": fields}));
            let possible = NAMES.iter().any(|name| brute_force(&selector, &term, name));
            let answer = why_not(Some(&selector), &term);
            prop_assert_eq!(answer.is_none(), possible, "{:?}", answer);
            for name in NAMES {
                let possible = brute_force(&BTreeMap::new(), &term, name);
                prop_assert_eq!(super::why_not(None, &term, Some(name)).is_none(), possible, "{}", name);
            }
        }
    }
}
