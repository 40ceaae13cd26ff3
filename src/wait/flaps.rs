//! Pods that become ready and unready again, and so never available.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    obstacle::{Hold, Obstacle, View},
    target::Target,
};
use crate::{
    kubernetes::kind::Kind,
    observed::{Pod, Set},
};

/// The fewest losses of readiness that count: the first may belong to the start.
const FEWEST: u32 = 3;

/// The readiness of pods as it was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Flaps(BTreeMap<(Target, Box<str>), Seen>);

/// The readiness of a pod.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The time of creation and the restarts: with others, it counts as another pod.
    life: (i64, i32),
    ready: (bool, i64),
    /// How often the pod has become unready without having been available, and when first.
    losses: u32,
    first: Timestamp,
}

impl Flaps {
    /// Forgets what was seen.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records how ready a pod is. Returns the obstacle of a pod that becomes ready and unready again within
    /// `minReadySeconds`: it never becomes available.
    pub(crate) fn note(
        &mut self,
        view: &View<'_>,
        target: &Target,
        set: &Set,
        pod: &Pod,
    ) -> Option<Obstacle> {
        let least = set.min_ready_seconds();
        if least <= 0 || pod.deleted.is_some() {
            return None;
        }
        let life = (pod.created, pod.restarts);
        let new = Seen { life, ready: pod.ready, losses: 0, first: view.now };
        let seen = self.0.entry((target.clone(), pod.name.clone())).or_insert(new);
        if seen.life != life || pod.is_available(least, view.now) {
            *seen = new;
            return None;
        }
        let (was_ready, is_ready) = (seen.ready.0, pod.ready.0);
        // If the time is new and the state is not, the other state was between two looks.
        let is_lost =
            was_ready && !is_ready || was_ready == is_ready && seen.ready.1 != pod.ready.1;
        seen.ready = pod.ready;
        if is_lost {
            seen.first = if seen.losses == 0 { view.now } else { seen.first };
            seen.losses = seen.losses.saturating_add(1);
        }
        (seen.losses >= FEWEST).then(|| obstacle(view, set, pod, seen))
    }
}

fn obstacle(view: &View<'_>, set: &Set, pod: &Pod, seen: &Seen) -> Obstacle {
    let mut events = view.observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
    let failed = events.find(|it| &*it.reason == "Unhealthy");
    let why = failed.map(|it| format!(": {}", it.message)).unwrap_or_default();
    let text = format!(
        "{} has become unready {} times before it was ready for the {} seconds of minReadySeconds{why}",
        pod.name,
        seen.losses,
        set.min_ready_seconds()
    );
    let first = seen.first.as_second();
    Obstacle::new("flaps", Hold::TransientSince(first), text).of_pod(&pod.name, first)
}
