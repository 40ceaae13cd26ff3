//! Pods that the API server refuses to create.

use super::{read::one_line, rule::Asked};
use crate::observed::State;

/// For how long a warning counts, in seconds. The controller tries again after 1,000 seconds at most,
/// and the API server forgets events after an hour.
const LATEST: i64 = 3_600;

/// Why pods of a set are not created.
pub(super) struct Refusal {
    /// The API server's words.
    pub(super) message: String,
    /// Since when, in seconds since 1970.
    pub(super) since: i64,
    /// How many other refusals there were.
    pub(super) others: usize,
}

impl Refusal {
    /// The latest refusal of pods of a set that still lacks pods.
    pub(super) fn of(asked: &Asked<'_>) -> Option<Self> {
        let lacks = match &asked.set.state {
            State::DaemonSet(it) => {
                it.status.current_number_scheduled < it.status.desired_number_scheduled
            }
            State::StatefulSet(it) => it.status.replicas < it.spec.replicas.unwrap_or(1),
        };
        let set = asked.set;
        let events = asked.audit.observed.events(set.namespace(), set.kind().as_str(), set.name());
        let now = asked.audit.now.as_second();
        let recent = |last: i64| last + LATEST > now;
        let mut refusals =
            events.iter().filter(|it| &*it.reason == "FailedCreate" && recent(it.last));
        let latest = refusals.next().filter(|_| lacks)?;
        let message = latest.message.strip_prefix("Error creating: ").unwrap_or(&latest.message);
        let message = match message.split_once(" failed error: ") {
            Some((_, message)) => message,
            None => message,
        };
        Some(Refusal { message: one_line(message), since: latest.first, others: refusals.count() })
    }
}
