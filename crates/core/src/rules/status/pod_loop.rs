//! Detects pods that end and are replaced again and again.

use crate::rules::prelude::*;
use crate::{
    observed::{LONGEST_GAP, is_of_ended},
    rollout::stateful_set::Settings,
};

/// A rollout creates one pod less often than this.
const MANY_TIMES: i32 = 10;
/// For a command that waits: the fewest ends of pods, and the shortest time from the first to the last, in seconds. A
/// node that is full ends many pods at once.
const FEWEST: i32 = 3;
const SHORTEST: i64 = 60;

const MADE_OLD: &str =
    ", from the old template each time, because spec.updateStrategy has no rollingUpdate";

const NO_RESTART: &str =
    "no container is restarted after exit code 0, so each pod ends once its containers have exited";

impl StatusQuery<'_> {
    /// Returns since when pods of the set have ended and been replaced, and why, if that still goes on. The state of
    /// one of these pods then explains nothing.
    pub(in crate::rules) fn pod_loop(&self) -> Option<(i64, String)> {
        match self.set.ends {
            true => recreated(self),
            false => replaced(self).or_else(|| looping(self)).or_else(|| made_old(self)),
        }
    }

    /// Returns whether the controller makes a missing parallel pod from the old template during an update.
    pub(in crate::rules) fn is_made_old(&self) -> bool {
        Replicas::of(self).is_some_and(|it| {
            let Settings { is_bare, is_ordered, ref ordinals, .. } = it.settings;
            is_bare && !is_ordered && it.is_replacing() && it.comes_back_old(ordinals.start)
        })
    }

    /// Returns a function that recognizes the pods of such a loop.
    pub(in crate::rules) fn is_of_loop(&self) -> impl Fn(&Pod) -> bool + use<> {
        let begun = self.pod_loop().map(|(first, _)| first);
        let young = self.audit.now.as_second() - LONGEST_GAP;
        move |pod| pod.created > young && begun.is_some_and(|first| first < pod.created)
    }
}

/// The time since which nodes have ended pods of the set again and again, and the reason, if that still goes on.
fn replaced(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let (observed, set) = (query.audit.observed, query.set);
    let of_set = observed.events(set.namespace(), set.kind().into(), set.name()).iter();
    let of_set =
        of_set.filter(|it| ["FailedDaemonPod", "RecreatingFailedPod"].contains(&&*it.reason));
    let of_pods = observed.pods(set).iter().flat_map(|pod| {
        let events = observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
        events.filter(|it| is_of_ended(&it.reason))
    });
    let events: Vec<_> = of_set.chain(of_pods).collect();
    let count = events.iter().fold(0, |sum: i32, it| sum.saturating_add(it.count));
    let first = events.iter().map(|it| it.first).min().filter(|it| query.audit.is_long_ago(*it))?;
    let latest = events.iter().max_by_key(|it| it.last)?;
    let is_short = count < FEWEST || latest.last - first < SHORTEST;
    if is_short && query.audit.patience.is_zero() {
        return None;
    }
    let ended = observed.pods(set).iter().find(|pod| pod.has_ended && pod.trouble.is_some());
    let why = match ended {
        Some(pod) => query.why(pod),
        None => format!("{}: {}", latest.reason, one_line(&latest.message)),
    };
    // Of many events about an object, only some are recorded.
    let goes_on = query.audit.now.as_second() - latest.last;
    (goes_on < query.audit.patience.as_secs().max(LONGEST_GAP)).then_some((first, why))
}

/// Like [`replaced`], for a StatefulSet that has created a pod of one name again and again, or a DaemonSet that creates
/// pods again and again for nodes that have not changed.
fn looping(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let now = query.audit.now.as_second();
    let goes_on = |it: &&Event| {
        it.count >= MANY_TIMES
            && it.last + 2 * LONGEST_GAP > now
            && query.audit.is_long_ago(it.first)
            && (it.last - it.first) / i64::from(it.count) < LONGEST_GAP
    };
    let worst =
        query.audit.observed.creations(query.set).filter(goes_on).max_by_key(|it| it.count)?;
    if query.set.kind() == WorkloadKind::DaemonSet {
        let why = format!("the controller has created pods at least {} times", worst.count);
        return are_new_for_old_reasons(query).then_some((worst.first, why));
    }
    // `create Pod db-0 in StatefulSet db successful`
    let name = worst.message.split(' ').nth(2).unwrap_or_default();
    let why = format!("{name} has been created at least {} times", worst.count);
    let mut pods = query.audit.observed.pods(query.set).iter();
    let ended = pods.find(|pod| *pod.name == *name && pod.has_ended);
    let why = ended.map_or(why.clone(), |pod| format!("{why}; {}", query.why(pod)));
    let why = if query.is_made_old() { format!("{why}{MADE_OLD}") } else { why };
    Some((worst.first, why))
}

/// Returns whether all pods are much younger than their nodes and the last change of the set.
fn are_new_for_old_reasons(query: &StatusQuery<'_>) -> bool {
    let (observed, set) = (query.audit.observed, query.set);
    let young = query.audit.now.as_second() - LONGEST_GAP;
    let old = |at: i64| at + LONGEST_GAP < young;
    let has_old_node = |pod: &Pod| {
        pod.node
            .as_deref()
            .and_then(|it| observed.node(it))
            .is_some_and(|it| old(it.created) && it.ready_since.is_none_or(old))
    };
    let pods = observed.pods(set);
    old(set.spec_written.unwrap_or_default().max(set.created))
        && pods.iter().all(|it| it.created > young && has_old_node(it))
}

/// Like [`looping`], from the pods: the controller records only some of its events.
fn made_old(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let changed = query.set.spec_written.filter(|_| query.is_made_old())?;
    let replicas = Replicas::of(query).filter(|_| query.audit.is_long_ago(changed))?;
    let name = replicas.pod_name(replicas.made_without_end(changed)?);
    Some((changed, format!("the controller creates and deletes {name}{MADE_OLD}")))
}

/// Like [`replaced`], for a set whose pods end by themselves: they are young and the set is not. A StatefulSet's
/// controller records no event about it, and the recorder drops all but the first of a DaemonSet's.
fn recreated(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let begun = query.set.spec_written.unwrap_or(0).max(query.set.created);
    let pods = query.audit.observed.pods(query.set);
    let is_long_ago = |at: i64| at + LONGEST_GAP <= query.audit.now.as_second();
    let is_late = query.audit.is_long_ago(begun) && is_long_ago(begun);
    let goes_on = is_late && pods.iter().any(|pod| !is_long_ago(pod.created));
    goes_on.then(|| (begun, NO_RESTART.to_owned()))
}
