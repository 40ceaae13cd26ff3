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

/// How much of all bodies may be in memory at one time, in KiB.
///
/// A typical review has 10 KiB, so there is room for thousands of them, or for eight of the
/// largest. Further requests wait, first come first served, for at most as long as the API server
/// waits for them. Shedding them instead would turn a burst of milliseconds into failed calls.
const BUDGET_KIB: usize = 64 << 10;

/// How long a body may take. The API server sends it at once.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a body may take once it is the one that may exceed the budget.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(1);

/// The memory for bodies. It is taken as bytes arrive: a client that only announces a large body
/// takes none.
#[derive(Debug)]
pub struct Budget {
    room: Semaphore,
    /// Taken by the one body that may exceed the budget. Without it, bodies that have arrived in
    /// part could wait for each other.
    extra: Semaphore,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { room: Semaphore::new(BUDGET_KIB), extra: Semaphore::new(1) }
    }
}

/// The share of one body in a [`Budget`], until it is dropped.
#[derive(Debug)]
pub struct Share<'a> {
    budget: &'a Budget,
    room: Option<SemaphorePermit<'a>>,
    extra: Option<SemaphorePermit<'a>>,
}

impl Budget {
    /// Reads a body, for at most ten seconds and not beyond `deadline`.
    ///
    /// # Errors
    /// If the body is too large, ends early or does not arrive in time, or if there is no room for
    /// it in time.
    pub async fn read(
        &self,
        mut body: Body,
        deadline: Instant,
    ) -> Result<(Bytes, Share<'_>), HttpError> {
        let mut share = Share { budget: self, room: None, extra: None };
        let mut end = deadline.min(Instant::now() + READ_TIMEOUT);
        let (mut first, mut all) = (Bytes::new(), Vec::new());
        loop {
            let frame = timeout_at(end, body.frame()).await.map_err(|_| HttpError::SlowBody)?;
            let Some(frame) = frame else { break };
            let Ok(data) = frame.map_err(|_| HttpError::Body)?.into_data() else { continue };
            let length = first.len() + all.len() + data.len();
            if length > MAX_BODY {
                return Err(HttpError::TooLarge);
            }
            if share.extra.is_none() {
                timeout_at(deadline, share.grow(length)).await.map_err(|_| HttpError::Busy)?;
                if share.extra.is_some() {
                    end = deadline.min(Instant::now() + EXTRA_TIMEOUT);
                }
            }
            // Most bodies arrive in one piece, which needs no copy.
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
        }
        Ok((if all.is_empty() { first } else { all.into() }, share))
    }
}

impl Share<'_> {
    /// Waits until there is room for this many bytes in all.
    async fn grow(&mut self, bytes: usize) {
        let has = self.room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = u32::try_from(bytes.div_ceil(1024).saturating_sub(has)).unwrap_or(u32::MAX);
        if more == 0 {
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
