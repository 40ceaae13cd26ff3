//! Detects sets whose template changes so often that no rollout ends.

use crate::observed::LONGEST_GAP;
use crate::rules::prelude::*;

/// The fewest revisions in five minutes that no person creates.
const NEW: usize = 6;
/// The fewest returns to an earlier revision that no person makes.
const RETURNS: i64 = 10;
/// The default of `revisionHistoryLimit`.
const KEPT: i32 = 10;

pub(in crate::rules) fn report(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    if query.set.is_healthy() {
        return None;
    }
    let now = query.audit.now.as_second();
    let is_recent = |at: i64| at + LONGEST_GAP > now;
    let revisions = || query.audit.observed.revisions(query.set);
    let new = revisions().filter(|it| it.number.is_some() && is_recent(it.created)).count();
    let count = i64::try_from(revisions().count()).unwrap_or(i64::MAX);
    let returns = revisions().filter_map(|it| it.number).max().unwrap_or_default() - count;
    let set = query.set;
    let kept = match &set.state {
        WorkloadState::DaemonSet(it) => it.spec.revision_history_limit,
        WorkloadState::StatefulSet(it) => it.spec.revision_history_limit,
    };
    // With fewer revisions than the limit, none was deleted, so the numbers count the returns.
    let has_all = count < kept.unwrap_or(KEPT).into();
    let are_two = [set.spec_written, set.spec_written_by_other].map(|it| it.is_some_and(is_recent));
    let cause = if new >= NEW {
        let first = revisions().map(|it| it.created).filter(|it| is_recent(*it)).min()?;
        format!("{new} new revisions since {}", at(first))
    } else if returns >= RETURNS && has_all && are_two == [true, true] {
        format!("it has returned to an earlier one {returns} times, and two clients change the set")
    } else {
        return None;
    };
    let title = "the template changes again and again";
    let effect = "each rollout begins before the last one ends";
    let words = [&*query.target(), "-o", "yaml", "--show-managed-fields"];
    let help = Help::say("find out which clients change it, and let only one do so; ")
        .run(query.kubectl().looks("get", &words))
        .and(" shows who wrote which field last");
    let facts = Facts::title(title).cause(cause).effect(effect.to_owned());
    Some(StatusFinding::new(&TEMPLATE, facts, help))
}
