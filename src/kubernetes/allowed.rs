//! Which values a label may have, given what is asked of it.
//!
//! Labels are free text: what nobody lists and nobody forbids is always possible. So requirements
//! on different keys do not bear on each other, and those on one key can be met together if one
//! value, or the lack of the label, meets them all.

use std::{borrow::Borrow, cmp::Ordering};

/// What a requirement asks of the value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test<'a> {
    /// `In`
    OneOf(&'a [String]),
    /// An entry of a map of labels.
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
    /// A comparison with what is no number, which holds for no value.
    Never,
}

/// The values that pass some tests, all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allowed<S> {
    /// No value, nor the lack of one.
    Nothing,
    /// No value.
    Absent,
    /// One of these, of which there is at least one; sorted.
    OneOf(Box<[S]>),
    /// A value, but none of these (sorted), and a number within these bounds, if there are any.
    Present {
        /// What it is not.
        not: Box<[S]>,
        /// The lowest and the highest number that it may be.
        bounds: Option<(i64, i64)>,
    },
    /// No value, or none of these; sorted.
    NotIn(Box<[S]>),
}

impl<S: Ord + for<'t> From<&'t str> + Borrow<str>> Allowed<S> {
    /// The values that pass all of these tests.
    pub(crate) fn by<'a>(tests: impl IntoIterator<Item = Test<'a>>) -> Self {
        let mut all = All::default();
        tests.into_iter().for_each(|test| all.add(test));
        all.allowed()
    }
}

impl<S: Ord + Clone + Borrow<str>> Allowed<S> {
    /// Whether a value, or the lack of one, is among them.
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

    /// Those that are allowed by both.
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

/// Tests, gathered by what they do.
#[derive(Default)]
struct All<'a> {
    must_be_present: bool,
    must_be_absent: bool,
    /// What all lists have in common so far.
    list: Option<Vec<&'a str>>,
    not: Vec<&'a str>,
    bounds: Option<(i64, i64)>,
    is_impossible: bool,
}

impl<'a> All<'a> {
    fn add(&mut self, test: Test<'a>) {
        self.must_be_present |= !matches!(test, Test::NoneOf(_) | Test::Absent);
        match test {
            Test::OneOf(values) => self.one_of(values.iter().map(String::as_str).collect()),
            Test::Is(value) => self.one_of(vec![value]),
            Test::NoneOf(values) => self.not.extend(values.iter().map(String::as_str)),
            Test::Present => {}
            Test::Absent => self.must_be_absent = true,
            // No label begins with a minus.
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
            // A number can be written with any count of zeros before it, and any other text can be
            // made longer, so what is not forbidden never runs out.
            bounds if self.must_be_present => Allowed::Present { not: own(self.not), bounds },
            _ => Allowed::NotIn(own(self.not)),
        }
    }
}

fn non_empty<S>(list: Box<[S]>) -> Allowed<S> {
    if list.is_empty() { Allowed::Nothing } else { Allowed::OneOf(list) }
}

/// The bounds that both ask for.
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

/// Two sorted lists as one.
fn union<S: Ord + Clone>(one: &[S], other: &[S]) -> Box<[S]> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let next = || {
        Some(match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => match a.cmp(b) {
                Ordering::Less => one.next()?,
                Ordering::Greater => other.next()?,
                Ordering::Equal => {
                    other.next();
                    one.next()?
                }
            },
            (Some(_), None) => one.next()?,
            (None, _) => other.next()?,
        })
    };
    std::iter::from_fn(next).cloned().collect()
}
