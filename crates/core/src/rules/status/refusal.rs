//! Pods that the API server refuses to create or to delete.

use super::phrases::one_line;
use crate::{observed::Event, rules::rule::status::StatusQuery};

/// The time for which a warning counts, in seconds. The controller tries again after 1,000 seconds at most,
/// and the API server deletes events after an hour.
const LATEST: i64 = 3_600;

/// The time after a refusal, in seconds, from which a new pod shows that the cause is gone. One sync creates
/// all pods that are missing. Of an object about which there are many events, only one in
/// five minutes is recorded.
///
/// Kubernetes: `defaultSpamQPS`, client-go tools/record/events_cache.go.
const REFILL: i64 = 300;

/// The reason why pods of a set are not created.
pub(in crate::rules) struct FailedCreate {
    /// The message of the API server.
    pub(in crate::rules) message: String,
    /// The time of the first attempt, in seconds since 1970.
    pub(in crate::rules) since: i64,
    /// The time of the latest attempt, in seconds since 1970.
    pub(in crate::rules) last: i64,
    /// The number of refusals with other messages.
    pub(in crate::rules) others: usize,
}

impl FailedCreate {
    /// Returns the latest refusal of pods of a set that still lacks pods.
    pub(in crate::rules) fn of(query: &StatusQuery<'_>) -> Option<Self> {
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

/// Returns the latest refusal of the last hour to delete a pod of a set.
pub(in crate::rules) fn refused_deletion(query: &StatusQuery<'_>) -> Option<String> {
    let latest = latest(query, "FailedDelete").next()?;
    Some(one_line(reason(&latest.message)))
}

/// Returns the events of the last hour about a set with this reason, the latest first.
fn latest<'a>(query: &StatusQuery<'a>, reason: &'static str) -> impl Iterator<Item = &'a Event> {
    let set = query.set;
    let events = query.audit.observed.events(set.namespace(), set.kind().into(), set.name());
    let now = query.audit.now.as_second();
    events.iter().filter(move |it| &*it.reason == reason && it.last + LATEST > now)
}

/// Returns the message of the API server without the name of the pod, which differs in each attempt of a
/// DaemonSet.
fn reason(message: &str) -> &str {
    let starts = ["Error creating: ", "Error deleting: "];
    let message = starts.iter().find_map(|it| message.strip_prefix(it)).unwrap_or(message);
    let message = message.split_once(" failed error: ").map_or(message, |(_, rest)| rest);
    match message.strip_prefix("pods \"").and_then(|rest| rest.split_once("\" is forbidden: ")) {
        Some((_, reason)) => reason,
        None => message,
    }
}
