//! Folds findings that have one cause but affect many objects, so that the text format prints them once.

use std::{cmp::Reverse, collections::BTreeMap};

use setguard_files::report::{
    changes::Change,
    diagnostic::{Diagnostic, Folded, ObjectReport, Severity},
};

/// The smallest group that is folded: for cluster-scoped objects such as nodes, for findings with a cause, and for all
/// others.
const MANY: [usize; 3] = [2, 3, 5];
const NAMED: usize = 5;

/// Findings are folded if these parts are equal.
type Key<'a> =
    (Reverse<Severity>, &'static str, [Option<&'a str>; 3], Option<Change>, Option<&'a str>);

fn key(it: &Diagnostic) -> Key<'_> {
    let texts = match &it.facts {
        Some(facts) => [facts.cause.as_deref().or(Some(&*facts.title)), None, None],
        None => [Some(&*it.message), Some(&*it.field), it.help.as_deref()],
    };
    (Reverse(it.severity), it.rule.id, texts, it.change, it.downgrade.as_deref())
}

/// Marks the findings that belong to a group, and returns one finding for each group, the worst first.
pub(super) fn fold(reports: &mut [ObjectReport]) -> Vec<Folded> {
    let mut equal: BTreeMap<Key<'_>, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        for (nth, diagnostic) in report.diagnostics.iter().enumerate() {
            equal.entry(key(diagnostic)).or_default().push((at, nth));
        }
    }
    let groups: Vec<_> = equal.into_values().collect();
    groups.into_iter().filter_map(|places| group(reports, &places)).collect()
}

fn group(reports: &mut [ObjectReport], places: &[(usize, usize)]) -> Option<Folded> {
    let all = places.iter().filter_map(|(at, nth)| {
        let report = reports.get(*at)?;
        Some((report, report.diagnostics.get(*nth)?))
    });
    let all: Vec<_> = all.collect();
    let (report, first) = *all.first()?;
    let [of_cluster, of_cause, others] = MANY;
    let many = match &first.facts {
        Some(_) if report.id.namespace.is_empty() => of_cluster,
        Some(_) => of_cause,
        None => others,
    };
    if all.len() < many {
        return None;
    }
    let mut diagnostic = first.clone();
    if let Some(facts) = &mut diagnostic.facts {
        for other in all.iter().filter_map(|(_, it)| it.facts.as_ref()) {
            facts.since = facts.since.min(other.since).or(facts.since);
            facts.effect.take_if(|it| other.effect.as_ref() != Some(it));
            if facts.title != other.title {
                facts.title = diagnostic.rule.title.to_owned();
            }
            if facts.changes != other.changes {
                facts.changes.clear();
            }
        }
    }
    let differs = all.iter().any(|(_, it)| it.help != first.help);
    if let Some(help) = diagnostic.help.as_mut().filter(|_| differs) {
        help.push_str("; for the others likewise");
    }
    let ids = all.iter().take(NAMED).map(|(report, _)| report.id.clone());
    let folded = Folded { diagnostic, count: all.len(), first: ids.collect() };
    for (at, nth) in places {
        let diagnostic = reports.get_mut(*at).and_then(|it| it.diagnostics.get_mut(*nth));
        diagnostic.into_iter().for_each(|it| it.is_folded = true);
    }
    Some(folded)
}
