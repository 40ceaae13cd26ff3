//! Pods that do not exist, because they were refused or not requested.

use super::obstacle::{Hold, Obstacle, Repair, View};
use crate::observed::{Event, LONGEST_WAIT, SLACK, Set};

/// The time by which an attempt may precede the wait, in seconds.
const BEFORE: i64 = 15;
/// The time for which the API server keeps an event, in seconds.
const KEPT: i64 = 3_600;
/// Refusals that often go away by themselves: a webhook that does not answer, or an API server with
/// too much to do.
const PASSING: [&str; 7] = [
    "failed calling webhook",
    "connection refused",
    "context deadline exceeded",
    "timed out",
    "Timeout",
    "etcdserver",
    "already exists",
];

/// Returns the obstacle of a refusal to create or delete pods of a set. `known` is the time of the
/// first refusal that the wait has seen: a younger refusal is current, whatever the local clock
/// says.
pub(crate) fn refusal(view: &View<'_>, set: &Set, known: &mut Option<i64>) -> Option<Obstacle> {
    if set.lacks_pods()
        && let Some(event) = latest(view, set, "FailedCreate")
    {
        let is_of_now = event.last > *known.get_or_insert(event.last)
            || event.last >= view.begun.as_second() - BEFORE;
        return Some(of_event(event, is_of_now));
    }
    let event = latest(view, set, "FailedDelete")?;
    // The event belongs to this rollout, or to an earlier one.
    (event.last >= view.begun.as_second() - BEFORE).then(|| {
        let text = format!("pods cannot be deleted: {}", event.message);
        Obstacle { since: Some(event.first), ..Obstacle::new("undeletable", Hold::Likely, text) }
    })
}

fn of_event(event: &Event, is_of_now: bool) -> Obstacle {
    let text = format!("pods are refused: {}", event.message);
    let passes = PASSING.iter().any(|word| event.message.contains(word));
    let hold = match (is_of_now, passes) {
        // The cause may be gone; only the next attempt shows that.
        (false, _) => Hold::Until(event.last + LONGEST_WAIT + SLACK),
        (true, true) => Hold::Transient,
        (true, false) => Hold::Fact,
    };
    let repair = (!is_of_now).then_some(Repair::Poke);
    Obstacle { since: Some(event.first), repair, ..Obstacle::new("refused", hold, text) }
}

fn latest<'a>(view: &View<'a>, set: &Set, reason: &str) -> Option<&'a Event> {
    let events = view.observed.events(set.namespace(), set.kind().into(), set.name());
    let now = view.now.as_second();
    events.iter().find(|it| &*it.reason == reason && it.last + KEPT > now && it.last >= set.created)
}
