//! Detects pods that alternate between ready and unready, and so never become available.

use crate::observed::LONGEST_GAP;
use crate::rules::prelude::*;

const FEWEST: i32 = 3;
/// The recorder counts each failure up to this number, and only some of the later ones.
///
/// Kubernetes: `defaultSpamBurst`, client-go tools/record/events_cache.go.
const COUNTED: i32 = 25;
/// How long a ready pod's probe may fail before the failure counts, in seconds.
const SLACK: i64 = 60;

struct Failures<'a> {
    first: i64,
    last: i64,
    count: i32,
    latest: &'a Event,
}

impl<'a> StatusQuery<'a> {
    /// Returns since when a pod has repeatedly lost readiness before `minReadySeconds`, without a restart. A pod's
    /// status shows only the last change. So the failures of the readiness probe must have lasted, and something must
    /// show that the pod was ready in between: the pod became unready after its containers started, or the probe failed
    /// less often than a slow pod's.
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

    pub(in crate::rules) fn is_unready(&self, pod: &Pod) -> bool {
        !pod.ready.0 || self.flaps_since(pod).is_some()
    }

    pub(in crate::rules) fn is_how(&self, pod: &Pod) -> &'static str {
        if self.flaps_since(pod).is_some() { "has not stayed ready" } else { "is not ready" }
    }

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
