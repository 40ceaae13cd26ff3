//! The values that a label can have under a set of requirements.
//!
//! No value is excluded unless a requirement mentions it. So requirements on different keys are independent, and
//! requirements on one key are compatible if one value, or the absence of the label, meets them all.

use std::borrow::Borrow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test<'a> {
    /// `In`
    OneOf(&'a [String]),
    Is(&'a str),
    /// `NotIn`
    NoneOf(&'a [String]),
    /// `Exists`
    Present,
    /// `DoesNotExist`
    Absent,
    /// `Gt`
    Above(i64),
    /// `Lt`
    Below(i64),
    /// A comparison with text that is not a number. No value passes.
    Never,
}

impl<'a> Test<'a> {
    /// The test of a requirement in a selector of labels; `None` for other operators.
    pub(crate) fn of(operator: &str, values: &'a [String]) -> Option<Self> {
        Some(match operator {
            "In" => Test::OneOf(values),
            "NotIn" => Test::NoneOf(values),
            "Exists" => Test::Present,
            "DoesNotExist" => Test::Absent,
            _ => return None,
        })
    }

    /// `None` is the absence of the label.
    pub(crate) fn holds(&self, value: Option<&str>) -> bool {
        let listed = |list: &[String]| value.is_some_and(|it| list.iter().any(|own| own == it));
        let number = || value?.parse::<i64>().ok();
        match self {
            Test::OneOf(list) => listed(list),
            Test::Is(wanted) => value == Some(*wanted),
            Test::NoneOf(list) => !listed(list),
            Test::Present => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
            Test::Never => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allowed<S> {
    /// No value is allowed, and the label must not be absent either.
    Nothing,
    Absent,
    /// One of these values; sorted, at least one.
    OneOf(Box<[S]>),
    /// Any value except `not`; with `bounds`, only a number within them.
    Present {
        /// Sorted.
        not: Box<[S]>,
        bounds: Option<(i64, i64)>,
    },
    /// The absence of the label, or any value except these; sorted.
    NotIn(Box<[S]>),
}

impl<S: Ord + for<'t> From<&'t str> + Borrow<str>> Allowed<S> {
    pub(crate) fn by<'a>(tests: impl IntoIterator<Item = Test<'a>>) -> Self {
        let mut all = Gathered::default();
        tests.into_iter().for_each(|test| all.add(test));
        all.allowed()
    }
}

impl<S: Ord + Clone + Borrow<str>> Allowed<S> {
    /// `None` is the absence of the label.
    pub(crate) fn contains(&self, value: Option<&str>) -> bool {
        let listed =
            |list: &[S], value: &str| list.binary_search_by(|own| own.borrow().cmp(value)).is_ok();
        match (self, value) {
            (Allowed::Nothing, _) => false,
            (Allowed::Absent | Allowed::NotIn(_), None) => true,
            (Allowed::OneOf(_) | Allowed::Present { .. }, None) | (Allowed::Absent, Some(_)) => {
                false
            }
            (Allowed::OneOf(list), Some(value)) => listed(list, value),
            (Allowed::NotIn(not), Some(value)) => !listed(not, value),
            (Allowed::Present { not, bounds }, Some(value)) => {
                !listed(not, value) && is_within(value, *bounds)
            }
        }
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Allowed::OneOf(list), other) | (other, Allowed::OneOf(list)) => {
                let left = list.iter().filter(|value| other.contains(Some((*value).borrow())));
                non_empty(left.cloned().collect())
            }
            (Allowed::Absent, other) | (other, Allowed::Absent) => {
                if other.contains(None) {
                    Allowed::Absent
                } else {
                    Allowed::Nothing
                }
            }
            (Allowed::NotIn(a), Allowed::NotIn(b)) => Allowed::NotIn(union(a, b)),
            (Allowed::Present { not, bounds }, Allowed::NotIn(more))
            | (Allowed::NotIn(more), Allowed::Present { not, bounds }) => {
                Allowed::Present { not: union(not, more), bounds: *bounds }
            }
            (
                Allowed::Present { not: a, bounds: one },
                Allowed::Present { not: b, bounds: other },
            ) => match both(*one, *other) {
                Some((low, high)) if low > high => Allowed::Nothing,
                bounds => Allowed::Present { not: union(a, b), bounds },
            },
            (Allowed::Nothing, _) | (_, Allowed::Nothing) => Allowed::Nothing,
        }
    }
}

#[derive(Default)]
struct Gathered<'a> {
    must_be_present: bool,
    must_be_absent: bool,
    /// The values that all lists so far share.
    list: Option<Vec<&'a str>>,
    not: Vec<&'a str>,
    bounds: Option<(i64, i64)>,
    is_impossible: bool,
}

impl<'a> Gathered<'a> {
    fn add(&mut self, test: Test<'a>) {
        self.must_be_present |= !matches!(test, Test::NoneOf(_) | Test::Absent);
        match test {
            Test::OneOf(values) => self.one_of(values.iter().map(String::as_str).collect()),
            Test::Is(value) => self.one_of(vec![value]),
            Test::NoneOf(values) => self.not.extend(values.iter().map(String::as_str)),
            Test::Present => {}
            Test::Absent => self.must_be_absent = true,
            // No label value begins with a minus sign.
            Test::Above(bound) => match bound.checked_add(1) {
                Some(lowest) => self.bounds = both(self.bounds, Some((lowest.max(0), i64::MAX))),
                None => self.is_impossible = true,
            },
            Test::Below(bound) => match bound.checked_sub(1) {
                Some(highest) => self.bounds = both(self.bounds, Some((0, highest))),
                None => self.is_impossible = true,
            },
            Test::Never => self.is_impossible = true,
        }
    }

    fn one_of(&mut self, mut values: Vec<&'a str>) {
        values.sort_unstable();
        values.dedup();
        if let Some(before) = &self.list {
            values.retain(|value| before.binary_search(value).is_ok());
        }
        self.list = Some(values);
    }

    fn allowed<S: for<'t> From<&'t str>>(mut self) -> Allowed<S> {
        if self.is_impossible || self.must_be_absent && self.must_be_present {
            return Allowed::Nothing;
        }
        if self.must_be_absent {
            return Allowed::Absent;
        }
        self.not.sort_unstable();
        self.not.dedup();
        let own = |list: Vec<&str>| list.into_iter().map(S::from).collect::<Box<[S]>>();
        if let Some(mut list) = self.list {
            list.retain(|value| {
                self.not.binary_search(value).is_err() && is_within(value, self.bounds)
            });
            return non_empty(own(list));
        }
        match self.bounds {
            Some((low, high)) if low > high => Allowed::Nothing,
            // Numbers can have leading zeros, and other text can be made longer, so no list of forbidden values
            // excludes them all.
            bounds if self.must_be_present => Allowed::Present { not: own(self.not), bounds },
            _ => Allowed::NotIn(own(self.not)),
        }
    }
}

fn non_empty<S>(list: Box<[S]>) -> Allowed<S> {
    if list.is_empty() { Allowed::Nothing } else { Allowed::OneOf(list) }
}

fn both(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some((low, high)), Some((lower, higher))) => Some((low.max(lower), high.min(higher))),
        (bounds, None) | (None, bounds) => bounds,
    }
}

/// Kubernetes: `Requirement.Matches`, apimachinery pkg/labels/selector.go.
fn is_within(value: &str, bounds: Option<(i64, i64)>) -> bool {
    bounds.is_none_or(|(low, high)| {
        value.parse().is_ok_and(|number: i64| (low..=high).contains(&number))
    })
}

fn union<S: Ord + Clone>(one: &[S], other: &[S]) -> Box<[S]> {
    let mut all = [one, other].concat();
    // Two sorted runs: this merges them.
    all.sort();
    all.dedup();
    all.into()
}
