//! Reads the bodies of requests into a limited amount of memory.
//!
//! An API server sends a body immediately, so the time spent waiting for bytes distinguishes a stalled body from one
//! that had no room. When a body needs room, the one that has stalled longest gives up its own. Bodies that need the
//! least go first: a client can block small bodies only by sending small bodies itself.

use std::future;

use tokio::time::timeout_at;

use super::http_error::HttpError;
use crate::server::prelude::*;

/// The largest AdmissionReview that is accepted, in bytes.
///
/// The API server accepts objects of up to 3 MiB, and etcd stores up to 1.5 MiB. A review contains the user, and the
/// new and the old object as JSON, longer than the stored form. The API server treats a rejected body as a failed call,
/// so the limit is generous.
pub const MAX_BODY: usize = 8 << 20;

/// Each body may use this many KiB without taking room in a [`BodyMemory`]. A typical review has 10 KiB, so it never
/// waits for memory that other bodies hold. The limits on connections and HTTP/2 streams bound the sum: 20 MiB.
const ALWAYS_KIB: usize = 16;

/// The limit for all bodies in memory at one time, in KiB: five of the largest. Further requests wait as long as the
/// API server waits for them: shedding them would turn a burst of milliseconds into failed calls.
const ALL_KIB: usize = 40 << 10;

/// How much of that limit one connection may use. An HTTP/1.1 connection has only one body at a time.
const CONNECTION_KIB: usize = MAX_BODY >> 10;

/// The API server sends a body immediately.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long in total a body may make others wait: less than the API server's shortest timeout, and more than a busy
/// machine needs to pass on bytes that have arrived.
const GRACE: Duration = Duration::from_millis(200);

/// How often a body that waits for room looks for stalled ones.
const LOOK: Duration = Duration::from_millis(20);

/// Memory for bodies: of all connections, or of one. A body takes memory as its bytes arrive, so a client that only
/// announces a large body takes none.
#[derive(Debug)]
pub struct BodyMemory {
    state: Mutex<State>,
    /// Wakes all waiting bodies when room was given back, or the next one has its turn.
    changed: Notify,
    /// Wakes one body that has stalled for too long, if a waiting one needs its room.
    short: Notify,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// The total that each waiting body needs, and its number.
    waiting: BTreeSet<(usize, u64)>,
    /// The one body that may exceed the room. Otherwise, bodies that have arrived in part could wait for each other.
    extra: Option<u64>,
    next: u64,
}

impl BodyMemory {
    /// Returns the memory for the bodies of all connections.
    pub fn of_all() -> Self {
        Self::new(ALL_KIB)
    }

    /// Returns the memory for the bodies of one connection.
    pub fn of_connection() -> Self {
        Self::new(CONNECTION_KIB)
    }

    fn new(free: usize) -> Self {
        let state = State { free, waiting: BTreeSet::new(), extra: None, next: 0 };
        BodyMemory { state: Mutex::new(state), changed: Notify::new(), short: Notify::new() }
    }

    fn share(&self) -> Share<'_> {
        let mut state = self.state.lock();
        state.next += 1;
        Share { memory: self, id: state.next, kib: 0 }
    }

    /// Completes when the caller has to make room, because it has stalled for too long.
    async fn short(&self) {
        loop {
            self.short.notified().await;
            // Otherwise the notification is stale.
            if !self.state.lock().waiting.is_empty() {
                return;
            }
        }
    }
}

/// The share of one body in a [`BodyMemory`], until this is dropped.
#[derive(Debug)]
pub struct Share<'a> {
    memory: &'a BodyMemory,
    id: u64,
    kib: usize,
}

impl Share<'_> {
    async fn grow(&mut self, kib: usize) {
        while kib > self.kib {
            let changed = self.memory.changed.notified();
            if self.try_grow(kib) {
                return;
            }
            let _ = timeout(LOOK, changed).await;
        }
    }

    fn try_grow(&mut self, kib: usize) -> bool {
        let mut state = self.memory.state.lock();
        if state.extra == Some(self.id) {
            return true;
        }
        let waited = !state.waiting.insert((kib, self.id));
        if state.waiting.first() != Some(&(kib, self.id)) {
            return false;
        }
        let more = kib - self.kib;
        if state.free >= more {
            state.free -= more;
            self.kib = kib;
        } else if state.extra.is_none() {
            state.extra = Some(self.id);
        } else {
            self.memory.short.notify_one();
            return false;
        }
        state.waiting.pop_first();
        drop(state);
        // A body that was never in the way of others need not wake them. Otherwise each frame of each body would.
        if waited {
            self.memory.changed.notify_waiters();
        }
        true
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut state = self.memory.state.lock();
        state.free += self.kib;
        state.waiting.retain(|(_, id)| *id != self.id);
        state.extra = state.extra.filter(|id| *id != self.id);
        drop(state);
        self.memory.changed.notify_waiters();
    }
}

/// Reads a body, for at most ten seconds and not beyond `deadline`. Its bytes take room in the memory of its connection
/// and in the memory of all connections. A small body takes none. Fails if the body is too large, ends early or does
/// not arrive in time, or if no room becomes free in time.
pub async fn read<'a>(
    mut body: Body,
    connection: &'a BodyMemory,
    all: &'a BodyMemory,
    deadline: Instant,
) -> Result<(Bytes, Option<[Share<'a>; 2]>), HttpError> {
    let end = deadline.min(Instant::now() + READ_TIMEOUT);
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    let (mut shares, mut stalled) = (None, Duration::ZERO);
    loop {
        let since = Instant::now();
        let frame = tokio::select! {
            biased;
            frame = timeout_at(end, body.frame()) => frame.map_err(|_| HttpError::SlowBody)?,
            () = make_room(shares.as_ref(), since + GRACE.saturating_sub(stalled)) => {
                return Err(HttpError::SlowBody);
            }
        };
        stalled += since.elapsed();
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| HttpError::Body)?.into_data() else { continue };
        let length = first.len() + rest.len() + data.len();
        if length > MAX_BODY {
            return Err(HttpError::TooLarge);
        }
        let kib = length.div_ceil(1024).saturating_sub(ALWAYS_KIB);
        if kib > 0 {
            for share in shares.get_or_insert_with(|| [connection.share(), all.share()]) {
                timeout_at(deadline, share.grow(kib)).await.map_err(|_| HttpError::Busy)?;
            }
        }
        // Most bodies arrive in one piece and need no copy.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok((if rest.is_empty() { first } else { rest.into() }, shares))
}

/// Completes at the earliest when the grace of a body is over.
async fn make_room(shares: Option<&[Share<'_>; 2]>, end_of_grace: Instant) {
    let Some([connection, all]) = shares else { return future::pending().await };
    sleep_until(end_of_grace).await;
    tokio::select! {
        () = connection.memory.short() => {}
        () = all.memory.short() => {}
    }
}
