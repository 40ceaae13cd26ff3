//! Compares tolerations with each other and with taints.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};

pub use super::absent::text;

/// Returns whether `broad` tolerates every taint that `narrow` tolerates, for at least as long. Kubernetes:
/// `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.
pub(crate) fn covers(broad: &Toleration, narrow: &Toleration) -> bool {
    let own = scope(broad);
    seconds(broad) >= seconds(narrow) && broader_scopes(narrow).any(|it| Some(it) == own)
}

pub(crate) fn tolerates(toleration: &Toleration, key: &str, effect: &str) -> bool {
    tolerates_all_of(toleration, key, "", effect)
}

/// Kubernetes: `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.
pub(crate) fn tolerates_taint(toleration: &Toleration, taint: &Taint) -> bool {
    tolerates_all_of(toleration, &taint.key, text(&taint.value), &taint.effect)
}

fn tolerates_all_of(toleration: &Toleration, key: &str, value: &str, effect: &str) -> bool {
    let number = |text: &str| text.parse().ok().filter(|number: &i64| number.to_string() == text);
    (text(&toleration.effect).is_empty() || text(&toleration.effect) == effect)
        && (text(&toleration.key).is_empty() || text(&toleration.key) == key)
        && match operator(toleration) {
            "Exists" => true,
            "Equal" => text(&toleration.value) == value,
            "Gt" => number(value).zip(number(text(&toleration.value))).is_some_and(|(a, b)| a > b),
            "Lt" => number(value).zip(number(text(&toleration.value))).is_some_and(|(a, b)| a < b),
            _ => false,
        }
}

/// Returns the tolerations that the built-in controller gives every daemon pod, in its order. Kubernetes:
/// `AddOrUpdateDaemonPodTolerations`, pkg/controller/daemon/util/daemonset_util.go.
pub fn of_daemons(host_network: bool) -> impl Iterator<Item = Toleration> {
    const ALWAYS: [(&str, &str); 6] = [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    let network = host_network.then_some(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    ALWAYS.into_iter().chain(network).map(|(key, effect)| Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    })
}

pub(crate) fn operator(toleration: &Toleration) -> &str {
    match text(&toleration.operator) {
        "" => "Equal",
        operator => operator,
    }
}

/// Key, effect and value (`None` for all values) of the taints that a toleration matches.
type Scope<'a> = (&'a str, &'a str, Option<&'a str>);

/// Finds covering tolerations without comparing each pair.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    scopes: HashMap<Scope<'a>, Members>,
}

#[derive(Debug, Default)]
struct Members {
    /// Each toleration that lasts longer than all before it, with its seconds.
    records: Vec<(usize, i64)>,
    unlimited: Vec<usize>,
}

impl<'a> Index<'a> {
    /// The list must be in the order of the positions.
    pub(crate) fn of(list: impl IntoIterator<Item = (usize, &'a Toleration)>) -> Self {
        let mut index = Index::default();
        for (position, toleration) in list {
            let Some(scope) = scope(toleration) else { continue };
            let members = index.scopes.entry(scope).or_default();
            let seconds = seconds(toleration);
            if members.records.last().is_none_or(|(_, longest)| seconds > *longest) {
                members.records.push((position, seconds));
            }
            if toleration.toleration_seconds.is_none() {
                members.unlimited.push(position);
            }
        }
        index
    }

    /// Returns the first toleration that covers `narrow`, if it comes before `end`.
    pub(crate) fn first_before(&self, end: usize, narrow: &Toleration) -> Option<usize> {
        let covering = broader_scopes(narrow).filter_map(|scope| {
            let records = &self.scopes.get(&scope)?.records;
            let long_enough = records.partition_point(|(_, it)| *it < seconds(narrow));
            records.get(long_enough).map(|(position, _)| *position)
        });
        covering.min().filter(|position| *position < end)
    }

    /// Returns the first toleration after `start` that covers more than `narrow`, without a time limit.
    pub(crate) fn first_after(&self, start: usize, narrow: &Toleration) -> Option<usize> {
        let own = scope(narrow);
        let covering = broader_scopes(narrow).filter_map(|scope| {
            let unlimited = &self.scopes.get(&scope).filter(|_| Some(scope) != own)?.unlimited;
            unlimited.get(unlimited.partition_point(|position| *position <= start)).copied()
        });
        covering.min()
    }
}

/// `None` for an operator that compares numbers. Such a toleration covers nothing here.
fn scope(toleration: &Toleration) -> Option<Scope<'_>> {
    let value = match operator(toleration) {
        "Exists" => None,
        "Equal" => Some(text(&toleration.value)),
        _ => return None,
    };
    Some((text(&toleration.key), text(&toleration.effect), value))
}

/// Returns the scopes of the tolerations that cover `narrow` if they last long enough. A scope may occur twice.
fn broader_scopes(narrow: &Toleration) -> impl Iterator<Item = Scope<'_>> {
    let keys = [text(&narrow.key), ""];
    let effects = [text(&narrow.effect), ""];
    // `Equal` tolerates a single value, so it cannot cover `Exists`.
    let equal = (operator(narrow) == "Equal").then(|| text(&narrow.value));
    keys.into_iter().flat_map(move |key| {
        effects.into_iter().flat_map(move |effect| {
            [None, equal].into_iter().map(move |value| (key, effect, value))
        })
    })
}

/// No limit is the largest number.
fn seconds(toleration: &Toleration) -> i64 {
    toleration.toleration_seconds.unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn toleration() -> impl Strategy<Value = Toleration> {
        let text = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            prop::option::of(prop::sample::select(words))
        };
        let seconds = prop::option::of(0..3i64);
        let key = text(&["", "a", "b"]);
        let operator = text(&["", "Exists", "Equal", "Lt"]);
        (key, operator, text(&["", "x", "y"]), text(&["", "NoExecute", "NoSchedule"]), seconds)
            .prop_map(|(key, operator, value, effect, toleration_seconds)| Toleration {
                key,
                operator,
                value,
                effect,
                toleration_seconds,
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_index_finds_what_comparing_all_finds(list in prop::collection::vec(toleration(), 0..8)) {
            let index = Index::of(list.iter().enumerate());
            for (i, narrow) in list.iter().enumerate() {
                let before = list[..i].iter().position(|broad| covers(broad, narrow));
                prop_assert_eq!(index.first_before(i, narrow), before);
                // Tolerations that cover each other share a scope.
                let unlimited = narrow.toleration_seconds.is_none();
                let after = (i + 1..list.len()).find(|j| {
                    let broad = &list[*j];
                    broad.toleration_seconds.is_none()
                        && covers(broad, narrow)
                        && !covers(narrow, broad)
                });
                if unlimited {
                    prop_assert_eq!(index.first_after(i, narrow), after);
                }
            }
        }
    }
}
