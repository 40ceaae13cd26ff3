//! Pods that do not exist, because they were refused or not requested.

use setguard_core::observed::{Event, LONGEST_WAIT, SLACK, WorkloadStatus};

use super::obstacle::{Hold, Obstacle, Repair, View};

/// The time by which an attempt may precede the wait, in seconds.
const BEFORE: i64 = 15;

/// Explains an obstacle, that no pod is created or deleted, with a refusal. An event can only make the patience longer:
/// whoever may create events can write any refusal. `known` is the time of the first refusal that the wait has seen: a
/// younger refusal is current, whatever the local clock says.
pub(crate) fn explain(
    view: &View<'_>,
    set: &WorkloadStatus,
    known: &mut Option<i64>,
    idle: &mut Obstacle,
) {
    let is_after = |event: &Event| event.last >= view.begun.as_second() - BEFORE;
    let created = latest(view, set, "FailedCreate").filter(|_| set.lacks_pods());
    let (what, event) = match created {
        Some(event) => {
            let is_of_now = event.last > *known.get_or_insert(event.last) || is_after(event);
            if !is_of_now {
                // The cause may be gone; only the next attempt shows that.
                idle.hold = Hold::Until(event.last + LONGEST_WAIT + SLACK);
                idle.repair = Some(Repair::Poke);
            }
            ("pods are refused", event)
        }
        // The event belongs to this rollout, or to an earlier one.
        None => match latest(view, set, "FailedDelete").filter(|it| is_after(it)) {
            Some(event) => ("pods cannot be deleted", event),
            None => return,
        },
    };
    idle.text = format!("{what}: {}", event.message);
    idle.since = Some(event.first);
}

fn latest<'a>(view: &View<'a>, set: &WorkloadStatus, reason: &'static str) -> Option<&'a Event> {
    let mut events = view.observed.events_of_set(set, reason, view.now.as_second());
    events.find(|it| it.last >= set.created)
}
