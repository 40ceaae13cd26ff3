//! Detects pods that alternate between ready and unready, and so never become available.

use setguard_core::{
    finding::{Hold, Outlook},
    observed::Pod,
};

use super::decision::{Obstacle, View};
use crate::prelude::*;

/// The state of such a pod, as an obstacle.
pub(super) const FLAPS: &str = "flaps";
/// The fewest losses of readiness that count; the first may be part of the start.
const FEWEST: u32 = 3;
/// How long to wait for the second loss, and the shortest wait for a later one.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Default)]
pub(crate) struct Flaps(BTreeMap<(Target, Box<str>), Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The time of creation and the restarts. If either changes, counting starts over.
    life: (i64, i32),
    ready: (bool, i64),
    /// How often the pod became unready before it was available, and when first and last.
    losses: u32,
    first: Timestamp,
    last: Timestamp,
    gap: SignedDuration,
}

impl Seen {
    /// Returns whether the pod has kept its state long enough to count as stable or slow.
    fn is_quiet(&self, now: Timestamp) -> bool {
        let most = if self.losses < 2 { LONGEST } else { SHORTEST.max(self.gap * 2) };
        now.duration_since(self.last) > most
    }

    fn lose(&mut self, now: Timestamp) {
        if self.losses == 0 {
            self.first = now;
        } else {
            self.gap = self.gap.max(now.duration_since(self.last));
        }
        self.last = now;
        self.losses = self.losses.saturating_add(1);
    }
}

impl Flaps {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records a pod's readiness. Returns an obstacle if the pod repeatedly loses readiness within `minReadySeconds`,
    /// so that it never becomes available.
    pub(crate) fn note(
        &mut self,
        view: &View<'_>,
        target: &Target,
        set: &WorkloadStatus,
        pod: &Pod,
    ) -> Option<Obstacle> {
        let least = set.min_ready_seconds();
        if least <= 0 || pod.deleted.is_some() {
            return None;
        }
        let life = (pod.created, pod.restarts);
        let now = view.now;
        let gap = SignedDuration::ZERO;
        let new = Seen { life, ready: pod.ready, losses: 0, first: now, last: now, gap };
        let seen = self.0.entry((target.clone(), pod.name.clone())).or_insert(new);
        if seen.life != life || pod.is_available(least, view.now) {
            *seen = new;
            return None;
        }
        let (was_ready, is_ready) = (seen.ready.0, pod.ready.0);
        // If only the time changed, the pod was in the other state between two observations.
        let is_lost =
            was_ready && !is_ready || was_ready == is_ready && seen.ready.1 != pod.ready.1;
        seen.ready = pod.ready;
        if is_lost {
            seen.lose(now);
        } else if seen.is_quiet(now) {
            *seen = new;
        }
        (seen.losses >= FEWEST).then(|| obstacle(view, set, pod, seen))
    }
}

fn obstacle(view: &View<'_>, set: &WorkloadStatus, pod: &Pod, seen: &Seen) -> Obstacle {
    let mut events = view.observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
    let failed = events.find(|it| &*it.reason == "Unhealthy");
    let title = format!(
        "{} has become unready {} times before it was ready for the {} seconds of minReadySeconds",
        pod.name,
        seen.losses,
        set.min_ready_seconds()
    );
    let first = seen.first.as_second();
    let facts = Facts::title(title).since(first).pods([&*pod.name]);
    let facts = facts.outlook(Outlook::new(FLAPS, Hold::Since(first)));
    Obstacle::of(match failed {
        Some(failed) => facts.cause(&*failed.message),
        None => facts,
    })
}
