//! Folds findings that have one cause but affect many objects, so that the text format prints them once.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

use setguard_core::finding::Facts;
use setguard_files::prelude::*;
use setguard_files::report::{changes::Change, diagnostic::Folded};

/// The smallest group that is folded: for cluster-scoped objects such as nodes, for findings with a cause, and for all
/// others.
const MANY: [usize; 3] = [2, 3, 5];
/// How many objects a folded warning names. An error names all.
const NAMED: usize = 5;

/// Findings are folded if these parts are equal.
type Key<'a> =
    (Reverse<Severity>, &'static str, [Option<Cow<'a, str>>; 3], Option<Change>, Option<&'a str>);

fn key<'a>(id: &ObjectId, it: &'a Diagnostic) -> Key<'a> {
    let help = it.help.as_deref().map(Cow::from);
    let texts = match &it.facts {
        Some(facts) => {
            let cause = facts.cause.as_deref().unwrap_or(&facts.title);
            let help = if it.commands.is_empty() { help } else { Some(kind(id, it, facts).into()) };
            [Some(cause.into()), facts.goes_on.as_deref().map(Cow::from), help]
        }
        None => [Some((&*it.message).into()), Some((&*it.field).into()), help],
    };
    (Reverse(it.severity), it.rule.id, texts, it.change, it.downgrade.as_deref())
}

/// Returns the commands of the help without the names of their objects. A reader of a folded finding runs them for all
/// objects.
fn kind(id: &ObjectId, it: &Diagnostic, facts: &Facts) -> String {
    let is_name = |word: &str| {
        let of_object = [&*id.namespace, &*id.name].contains(&word);
        let mut others = facts.pods.iter().chain(&facts.nodes);
        // The name of a pod's claim ends with the pod's name.
        of_object
            || others.any(|it| {
                word.strip_suffix(&**it).is_some_and(|it| it.is_empty() || it.ends_with('-'))
            })
    };
    let mut kind = String::new();
    for command in &it.commands {
        let words = command.line().split_whitespace();
        let mut words: Vec<_> = words
            .map(|word| if is_name(word.rsplit('/').next().unwrap_or(word)) { "*" } else { word })
            .collect();
        words.dedup();
        kind.push_str(&format!("{}: {}\n", command.effect().as_str(), words.join(" ")));
    }
    kind
}

/// Marks the findings that belong to a group, and returns one finding for each group, the worst first.
pub(super) fn fold(reports: &mut [ObjectReport]) -> Vec<Folded> {
    let mut equal: BTreeMap<Key<'_>, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        for (nth, diagnostic) in report.diagnostics.iter().enumerate() {
            equal.entry(key(&report.id, diagnostic)).or_default().push((at, nth));
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
    let most = if first.severity == Severity::Error { all.len() } else { NAMED };
    let mut ids: Vec<_> = all.iter().map(|(report, _)| report.id.clone()).collect();
    ids.dedup();
    let count = ids.len();
    ids.truncate(most);
    let folded = Folded { diagnostic, count, first: ids };
    for (at, nth) in places {
        let diagnostic = reports.get_mut(*at).and_then(|it| it.diagnostics.get_mut(*nth));
        diagnostic.into_iter().for_each(|it| it.is_folded = true);
    }
    Some(folded)
}
