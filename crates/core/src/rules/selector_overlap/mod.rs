mod overlap;
#[cfg(test)]
mod tests;

use self::overlap::Overlap;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "selector-overlap", group: Names;
    title: "the selector matches pods of another controller",
    summary: "a selector that also matches the pods of another controller",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some((other, overlap)) = first_overlap(query) else { return };
    let Some(other) = query.other(other) else { return };
    let message = overlap.message(other);
    let help = "give each controller's pods a label of their own and add it to the selector; a selector \
         cannot be changed later";
    found.via(other.kind(), &SELECTOR, Reason::Invalid, message, help);
}

/// Only one of the two controllers reports.
fn first_overlap<'a>(query: &Query<'a>) -> Option<(u32, Overlap<'a>)> {
    let own = query.controller;
    let mut first: Option<(u32, Overlap<'a>)> = None;
    for list in query.inventory().near(query.item, own) {
        for id in list.iter().copied() {
            if first.as_ref().is_some_and(|(known, _)| *known <= id) {
                break;
            }
            let overlap = || {
                let other = query.other(id).filter(|other| query.answers_for(id, other))?;
                // Objects in different namespaces may have the same key.
                let theirs =
                    other.controller().filter(|_| other.namespace() == query.item.namespace())?;
                Overlap::of(own, theirs)
            };
            if let Some(overlap) = overlap() {
                first = Some((id, overlap));
                break;
            }
        }
    }
    first
}
