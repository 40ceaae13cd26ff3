//! Pods that the API server refuses to create or to delete.

use super::read::one_line;
use crate::{observed::Event, rules::rule::status::StatusQuery};

/// For how long a warning counts, in seconds. The controller tries again after 1,000 seconds at most,
/// and the API server forgets events after an hour.
const LATEST: i64 = 3_600;

/// How long after a refusal a pod must have been created to show that its cause is gone, in seconds. One
/// sync creates all pods that are missing. Of an object about which there are many events, only one in
/// five minutes is recorded.
///
/// Kubernetes: `defaultSpamQPS`, client-go tools/record/events_cache.go.
const REFILL: i64 = 300;

/// Why pods of a set are not created.
pub(super) struct FailedCreate {
    /// The API server's words.
    pub(super) message: String,
    /// Since when, in seconds since 1970.
    pub(super) since: i64,
    /// The latest attempt.
    pub(super) last: i64,
    /// How many other refusals there were.
    pub(super) others: usize,
}

impl FailedCreate {
    /// The latest refusal of pods of a set that still lacks pods.
    pub(super) fn of(query: &StatusQuery<'_>) -> Option<Self> {
        let mut refusals = latest(query, "FailedCreate");
        let latest = refusals.next().filter(|_| query.set.lacks_pods())?;
        if query.audit.observed.pods(query.set).iter().any(|pod| latest.last + REFILL < pod.created)
        {
            return None;
        }
        let message = reason(&latest.message);
        let (same, others): (Vec<_>, Vec<_>) =
            refusals.partition(|it| reason(&it.message) == message);
        let mut words: Vec<_> = others.iter().map(|it| reason(&it.message)).collect();
        words.sort_unstable();
        words.dedup();
        Some(FailedCreate {
            message: one_line(message),
            since: same.iter().map(|it| it.first).fold(latest.first, i64::min),
            last: latest.last,
            others: words.len(),
        })
    }
}

/// The latest refusal of the last hour to let the controller of a set delete a pod.
pub(super) fn refused_deletion(query: &StatusQuery<'_>) -> Option<String> {
    let latest = latest(query, "FailedDelete").next()?;
    Some(one_line(reason(&latest.message)))
}

/// The events of the last hour about a set with this reason, the latest first.
fn latest<'a>(query: &StatusQuery<'a>, reason: &'static str) -> impl Iterator<Item = &'a Event> {
    let set = query.set;
    let events = query.audit.observed.events(set.namespace(), set.kind().into(), set.name());
    let now = query.audit.now.as_second();
    events.iter().filter(move |it| &*it.reason == reason && it.last + LATEST > now)
}

/// What the API server said, without the name of the pod, which for a DaemonSet is another each time.
fn reason(message: &str) -> &str {
    let starts = ["Error creating: ", "Error deleting: "];
    let message = starts.iter().find_map(|it| message.strip_prefix(it)).unwrap_or(message);
    let message = message.split_once(" failed error: ").map_or(message, |(_, rest)| rest);
    match message.strip_prefix("pods \"").and_then(|rest| rest.split_once("\" is forbidden: ")) {
        Some((_, reason)) => reason,
        None => message,
    }
}
