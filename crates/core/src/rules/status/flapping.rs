//! Pods that become ready and unready again, and so never available.

use super::foreign_text::one_line;
use crate::{
    kubernetes::kind::Kind,
    observed::{Event, LONGEST_GAP, Pod},
    rules::rule::status::StatusQuery,
};

/// The fewest failures of a readiness probe that show something.
const FEWEST: i32 = 3;
/// The most failures of which each is counted. Of the later ones, only some are.
///
/// Kubernetes: `defaultSpamBurst`, client-go tools/record/events_cache.go.
const COUNTED: i32 = 25;
/// The time that a probe may fail before it counts as a failure of a pod that was ready, in seconds.
const SLACK: i64 = 60;

/// The failures of the readiness probes of a pod since its containers have run.
struct Failures<'a> {
    first: i64,
    last: i64,
    count: i32,
    latest: &'a Event,
}

impl<'a> StatusQuery<'a> {
    /// Returns the time since which a pod has become ready and unready again without being ready for
    /// `minReadySeconds`, and without a restart. The status of a pod has only the last change, so the failures
    /// of the readiness probe must have gone on for long, and there must be a sign that the pod was ready in
    /// between: it became unready after its containers had started, or the probe failed less often than that
    /// of a pod that is only slow.
    pub(in crate::rules) fn flaps_since(&self, pod: &Pod) -> Option<i64> {
        let (audit, probe) = (self.audit, self.set.readiness);
        let least = self.set.min_ready_seconds();
        let (is_ready, since) = pod.ready;
        let started = pod.started?;
        if least <= 0
            || probe.period == 0
            || pod.deleted.is_some()
            || pod.is_available(least, audit.now)
            || !is_ready && audit.is_long_ago(since) && since + SLACK <= audit.now.as_second()
            || !audit.is_long_ago(started + least)
        {
            return None;
        }
        let Failures { first, last, count, .. } = self.failures(pod, started)?;
        let gap = (last - first) / i64::from(count - 1);
        let goes_on = last + (3 * gap).clamp(SLACK, LONGEST_GAP) >= audit.now.as_second();
        let was_ready = match is_ready {
            false => since > started && first + probe.loss + SLACK < since,
            true => count <= COUNTED && i64::from(count) * 2 * probe.period < since - first,
        };
        (goes_on && gap <= LONGEST_GAP && was_ready && audit.is_long_ago(first)).then_some(first)
    }

    /// Returns whether a pod is not ready, or does not stay so.
    pub(in crate::rules) fn is_unready(&self, pod: &Pod) -> bool {
        !pod.ready.0 || self.flaps_since(pod).is_some()
    }

    /// `is not ready`, or the words for a pod that does not stay ready.
    pub(in crate::rules) fn is_how(&self, pod: &Pod) -> &'static str {
        if self.flaps_since(pod).is_some() { "has not stayed ready" } else { "is not ready" }
    }

    /// Returns the text about a pod that does not stay ready.
    pub(in crate::rules) fn why_it_flaps(&self, pod: &Pod) -> Option<String> {
        self.flaps_since(pod)?;
        let Failures { count, latest, .. } = self.failures(pod, pod.started?)?;
        let least = self.set.min_ready_seconds();
        let often = if count > COUNTED { "at least " } else { "" };
        Some(format!(
            "its readiness probe has failed {often}{count} times, and it is not available before it has been \
             ready for {least} seconds (minReadySeconds): {}",
            one_line(&latest.message)
        ))
    }

    fn failures(&self, pod: &Pod, started: i64) -> Option<Failures<'a>> {
        let events = self.audit.observed.events(self.set.namespace(), Kind::Pod, &pod.name).iter();
        let mut probes = events.filter(|it| {
            &*it.reason == "Unhealthy" && it.message.starts_with("Readiness") && it.first >= started
        });
        let latest = probes.next()?;
        let one = Failures { first: latest.first, last: latest.last, count: latest.count, latest };
        let all = probes.fold(one, |all, it| Failures {
            first: all.first.min(it.first),
            count: all.count.saturating_add(it.count),
            ..all
        });
        (all.count >= FEWEST).then_some(all)
    }
}
