//! Reads the bodies of requests into a limited amount of memory.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::http_error::HttpError;

/// The largest AdmissionReview that is accepted, in bytes.
///
/// The API server accepts objects of up to 3 MiB and etcd stores up to 1.5 MiB. A review contains
/// the new and the old object as JSON, which is longer than the stored form, and the user. The API
/// server treats a body that is rejected here as a failed call, so the limit is generous.
pub const MAX_BODY: usize = 8 << 20;

/// How much of each body takes no room in a [`Budget`], in KiB. A typical review has 10 KiB, so it
/// never waits for memory that others hold. The number of connections and of their HTTP/2 streams
/// limits what this adds up to: 20 MiB.
const ALWAYS_KIB: usize = 16;

/// How much of all bodies may be in memory at one time, in KiB: five of the largest. Further
/// requests wait, first come first served, for at most as long as the API server waits for them.
/// Shedding them instead would turn a burst of milliseconds into failed calls.
const ALL_KIB: usize = 40 << 10;

/// How much of that one connection may have. An HTTP/1.1 connection cannot have more than one body
/// at a time, so this restricts only HTTP/2.
const CONNECTION_KIB: usize = MAX_BODY >> 10;

/// How long a body may take. The API server sends it at once.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a body may take once it is the one that may exceed the budget.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(1);

/// Memory for bodies: of all connections, or of one. It is taken as bytes arrive: a client that only
/// announces a large body takes none.
#[derive(Debug)]
pub struct Budget {
    room: Semaphore,
    /// Taken by the one body that may exceed the budget. Without it, bodies that have arrived in
    /// part could wait for each other.
    extra: Semaphore,
}

impl Budget {
    /// For the bodies of all connections.
    pub fn of_all() -> Self {
        Self::new(ALL_KIB)
    }

    /// For the bodies of one connection.
    pub fn of_connection() -> Self {
        Self::new(CONNECTION_KIB)
    }

    fn new(kib: usize) -> Self {
        Budget { room: Semaphore::new(kib), extra: Semaphore::new(1) }
    }
}

/// What one body has of its budgets, until this is dropped: of its connection's, and of everybody's.
#[derive(Debug)]
pub struct Share<'a>([Part<'a>; 2]);

#[derive(Debug)]
struct Part<'a> {
    budget: &'a Budget,
    room: Option<SemaphorePermit<'a>>,
    extra: Option<SemaphorePermit<'a>>,
}

/// Reads a body, for at most ten seconds and not beyond `deadline`. The memory comes from the budget
/// of its connection and from that of all.
///
/// # Errors
/// If the body is too large, ends early or does not arrive in time, or if there is no room for
/// it in time.
pub async fn read<'a>(
    mut body: Body,
    connection: &'a Budget,
    all: &'a Budget,
    deadline: Instant,
) -> Result<(Bytes, Share<'a>), HttpError> {
    let mut share = Share([connection, all].map(|budget| Part { budget, room: None, extra: None }));
    let mut end = deadline.min(Instant::now() + READ_TIMEOUT);
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    loop {
        let frame = timeout_at(end, body.frame()).await.map_err(|_| HttpError::SlowBody)?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| HttpError::Body)?.into_data() else { continue };
        let length = first.len() + rest.len() + data.len();
        if length > MAX_BODY {
            return Err(HttpError::TooLarge);
        }
        let extras = share.extras();
        timeout_at(deadline, share.grow(length)).await.map_err(|_| HttpError::Busy)?;
        if share.extras() > extras {
            end = deadline.min(Instant::now() + EXTRA_TIMEOUT);
        }
        // Most bodies arrive in one piece, which needs no copy.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok((if rest.is_empty() { first } else { rest.into() }, share))
}

impl Share<'_> {
    /// Waits until there is room for this many bytes in all.
    async fn grow(&mut self, bytes: usize) {
        let kib = bytes.div_ceil(1024).saturating_sub(ALWAYS_KIB);
        for part in &mut self.0 {
            part.grow(kib).await;
        }
    }

    /// How many budgets it exceeds.
    fn extras(&self) -> usize {
        self.0.iter().filter(|part| part.extra.is_some()).count()
    }
}

impl Part<'_> {
    async fn grow(&mut self, kib: usize) {
        let has = self.room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = u32::try_from(kib.saturating_sub(has)).unwrap_or(u32::MAX);
        if more == 0 || self.extra.is_some() {
            return;
        }
        // Nothing closes these semaphores.
        tokio::select! {
            biased;
            room = self.budget.room.acquire_many(more) => if let Ok(room) = room {
                match &mut self.room {
                    Some(has) => has.merge(room),
                    None => self.room = Some(room),
                }
            },
            extra = self.budget.extra.acquire() => self.extra = extra.ok(),
        }
    }
}
