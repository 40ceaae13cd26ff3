//! Memory that bodies share, and the order in which they get it when it is short.
//!
//! The API server sends a body immediately, so the time that the server has waited for bytes
//! distinguishes a body that stalls from a body that was not let in. If a body needs room, each
//! body that has stalled for longer than [`GRACE`] loses its room, and the bodies that need the
//! least are served first: a client that wants to block a small body has to send a small body
//! itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

/// The total time that a body may make others wait: less than the API server's shortest timeout,
/// and more than a busy machine needs to pass on bytes that have arrived.
const GRACE: Duration = Duration::from_millis(200);

/// The interval at which a body that waits for room looks for other bodies that stall.
const LOOK: Duration = Duration::from_millis(20);

/// An amount of memory, in KiB.
#[derive(Debug)]
pub(super) struct Room {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// The one body that may exceed the room. Without it, bodies that have arrived in part could wait
    /// for each other.
    extra: Option<u64>,
    /// The bodies that have some of the room, or wait for it.
    bodies: BTreeMap<u64, Held>,
    next: u64,
}

/// The room of one body.
#[derive(Debug)]
struct Held {
    kib: usize,
    /// The total that the body needs, while it waits for that.
    needs: Option<usize>,
    /// The time since when the server has been waiting for bytes of this body, if it is.
    since: Option<Instant>,
    /// The time that the server waited for bytes of this body before.
    waited: Duration,
    /// Set once the body has to give its room back.
    evicted: bool,
    evict: Arc<Notify>,
}

impl Held {
    fn stalled(&self, now: Instant) -> Duration {
        self.waited + self.since.map_or(Duration::ZERO, |since| now - since)
    }
}

/// The reservation of one body in a [`Room`], until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    room: &'a Room,
    id: u64,
}

impl Room {
    pub(super) fn new(kib: usize) -> Self {
        let state = State { free: kib, extra: None, bodies: BTreeMap::new(), next: 0 };
        Room { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Creates a reservation without any room yet. `evict` is notified if it has to be given up.
    pub(super) fn reserve(&self, evict: Arc<Notify>) -> Reservation<'_> {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        let (since, waited) = (None, Duration::ZERO);
        let held = Held { kib: 0, needs: None, since, waited, evicted: false, evict };
        state.bodies.insert(id, held);
        Reservation { room: self, id }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation<'_> {
    /// Waits until the body has this many KiB in total.
    pub(super) async fn grow(&self, kib: usize) {
        if self.room.lock().grow(self.id, kib) {
            return;
        }
        loop {
            let changed = self.room.changed.notified();
            if self.room.lock().grow(self.id, kib) {
                // The next body may have its turn now.
                self.room.changed.notify_waiters();
                return;
            }
            let _ = timeout(LOOK, changed).await;
        }
    }

    /// Records that the server begins to wait for bytes of this body, or has received some.
    pub(super) fn set_waiting(&self, waiting: bool) {
        let mut state = self.room.lock();
        let Some(held) = state.bodies.get_mut(&self.id) else { return };
        let now = Instant::now();
        held.waited = held.stalled(now);
        held.since = waiting.then_some(now);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        let kib = state.bodies.remove(&self.id).map_or(0, |held| held.kib);
        state.free += kib;
        if state.extra == Some(self.id) {
            state.extra = None;
        }
        drop(state);
        self.room.changed.notify_waiters();
    }
}

impl State {
    /// Gives a body the room that it needs, if it is the body's turn and there is room. If there is
    /// none, bodies that stall are evicted.
    fn grow(&mut self, id: u64, kib: usize) -> bool {
        let Some(held) = self.bodies.get_mut(&id) else { return true };
        let more = kib.saturating_sub(held.kib);
        if more == 0 || self.extra == Some(id) {
            return true;
        }
        held.needs = Some(kib);
        let waiting = self.bodies.iter().filter_map(|(id, held)| Some((held.needs?, *id)));
        if waiting.min() != Some((kib, id)) {
            return false;
        }
        if self.free >= more {
            self.free -= more;
        } else if self.extra.is_none() {
            self.extra = Some(id);
        } else {
            self.evict(more);
            return false;
        }
        if let Some(held) = self.bodies.get_mut(&id) {
            held.kib += if self.extra == Some(id) { 0 } else { more };
            held.needs = None;
        }
        true
    }

    /// Evicts as many stalling bodies as needed, those that have stalled the longest first.
    fn evict(&mut self, needed: usize) {
        let now = Instant::now();
        let extra = self.extra;
        // The body that exceeds the room makes way for another that exceeds it.
        let frees = |id: u64, held: &Held| if extra == Some(id) { needed } else { held.kib };
        let going = self.bodies.iter().filter(|(_, held)| held.evicted);
        let mut coming = self.free + going.map(|(id, held)| frees(*id, held)).sum::<usize>();
        let stall = |held: &Held| held.since.is_some() && held.stalled(now) >= GRACE;
        let mut stalled: Vec<_> =
            self.bodies.iter_mut().filter(|(_, held)| !held.evicted && stall(held)).collect();
        stalled.sort_by_key(|(_, held)| std::cmp::Reverse(held.stalled(now)));
        for (id, held) in stalled {
            if coming >= needed {
                return;
            }
            held.evicted = true;
            held.evict.notify_one();
            coming += frees(*id, held);
        }
    }
}
