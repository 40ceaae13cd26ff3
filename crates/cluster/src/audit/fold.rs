//! Equal findings in many objects, which the text format prints once.

use std::collections::BTreeMap;

use setguard_files::report::{
    changes::Change,
    diagnostic::{Diagnostic, Folded, ObjectReport, Severity},
};

/// The number of equal findings from which they are printed once.
const MANY: usize = 5;
/// The number of objects that are named.
const NAMED: usize = 5;

/// The parts of a finding that must be equal.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    severity: std::cmp::Reverse<Severity>,
    rule: &'static str,
    field: &'a str,
    message: &'a str,
    help: Option<&'a str>,
    downgrade: Option<&'a str>,
    change: Option<Change>,
}

impl<'a> Key<'a> {
    fn of(diagnostic: &'a Diagnostic) -> Self {
        let Diagnostic { rule, severity, field, message, help, downgrade, change, .. } = diagnostic;
        Key {
            severity: std::cmp::Reverse(*severity),
            rule: rule.id,
            field,
            message,
            help: help.as_deref(),
            downgrade: downgrade.as_deref(),
            change: *change,
        }
    }
}

/// Marks the findings that many objects have in the same words, and returns one for each group, the worst
/// first.
pub(super) fn fold(reports: &mut [ObjectReport]) -> Vec<Folded> {
    let mut equal: BTreeMap<Key<'_>, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        for (nth, diagnostic) in report.diagnostics.iter().enumerate() {
            equal.entry(Key::of(diagnostic)).or_default().push((at, nth));
        }
    }
    let many: Vec<_> = equal.into_values().filter(|places| places.len() >= MANY).collect();
    let mut folded = Vec::new();
    for places in many {
        let first = places.first().and_then(|(at, nth)| reports.get(*at)?.diagnostics.get(*nth));
        let Some(diagnostic) = first.cloned() else { continue };
        let ids = places.iter().filter_map(|(at, _)| Some(reports.get(*at)?.id.clone()));
        folded.push(Folded { diagnostic, count: places.len(), first: ids.take(NAMED).collect() });
        for (at, nth) in places {
            let diagnostic = reports.get_mut(at).and_then(|it| it.diagnostics.get_mut(nth));
            diagnostic.into_iter().for_each(|it| it.is_folded = true);
        }
    }
    folded
}
