//! Reads the bodies of requests into a limited amount of memory.

mod room;

use std::{future::Future, sync::Arc, time::Duration};

use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use self::room::{Reservation, Room};
use super::http_error::HttpError;

/// The largest AdmissionReview that is accepted, in bytes.
///
/// The API server accepts objects of up to 3 MiB and etcd stores up to 1.5 MiB. A review contains
/// the new and the old object as JSON, which is longer than the stored form, and the user. The API
/// server treats a body that is rejected here as a failed call, so the limit is generous.
pub const MAX_BODY: usize = 8 << 20;

/// The part of each body that takes no room in a [`BodyMemory`], in KiB. A typical review has
/// 10 KiB, so it never waits for memory that other bodies hold. The limits on connections and
/// HTTP/2 streams bound the sum of these parts: 20 MiB.
const ALWAYS_KIB: usize = 16;

/// The limit for all bodies in memory at one time, in KiB: five of the largest. Further requests
/// wait, the smallest first, for at most as long as the API server waits for them. Shedding them
/// instead would turn a burst of milliseconds into failed calls.
const ALL_KIB: usize = 40 << 10;

/// The part of that limit that one connection may use. An HTTP/1.1 connection cannot have more than
/// one body at a time, so this restricts only HTTP/2.
const CONNECTION_KIB: usize = MAX_BODY >> 10;

/// The time limit for a body. The API server sends a body immediately.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Memory for bodies: of all connections, or of one. Memory is taken as bytes arrive, so a client
/// that only announces a large body takes none.
#[derive(Debug)]
pub struct BodyMemory(Room);

impl BodyMemory {
    /// Returns the memory for the bodies of all connections.
    pub fn of_all() -> Self {
        BodyMemory(Room::new(ALL_KIB))
    }

    /// Returns the memory for the bodies of one connection.
    pub fn of_connection() -> Self {
        BodyMemory(Room::new(CONNECTION_KIB))
    }
}

/// The share of one body in the memory of its connection and in the memory of the server, until this is
/// dropped.
#[derive(Debug)]
pub struct Share<'a> {
    of: [&'a BodyMemory; 2],
    /// `None` for a body that needs no room.
    reservations: Option<[Reservation<'a>; 2]>,
    /// Notified if other bodies need the room and this body does not arrive.
    evict: Arc<Notify>,
}

/// Reads a body, for at most ten seconds and not beyond `deadline`. Its bytes take room in the
/// memory of its connection and in the memory of all connections.
///
/// # Errors
/// Returns an error if the body is too large, ends early or does not arrive in time, or if no room
/// becomes free in time.
pub async fn read<'a>(
    mut body: Body,
    connection: &'a BodyMemory,
    all: &'a BodyMemory,
    deadline: Instant,
) -> Result<(Bytes, Share<'a>), HttpError> {
    let mut share =
        Share { of: [connection, all], reservations: None, evict: Arc::new(Notify::new()) };
    let end = deadline.min(Instant::now() + READ_TIMEOUT);
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    loop {
        let Some(frame) = share.wait(end, body.frame()).await? else { break };
        let Ok(data) = frame.map_err(|_| HttpError::Body)?.into_data() else { continue };
        let length = first.len() + rest.len() + data.len();
        if length > MAX_BODY {
            return Err(HttpError::TooLarge);
        }
        timeout_at(deadline, share.grow(length)).await.map_err(|_| HttpError::Busy)?;
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
    /// Waits until there is room for this many bytes in total.
    async fn grow(&mut self, bytes: usize) {
        let kib = bytes.div_ceil(1024).saturating_sub(ALWAYS_KIB);
        if kib == 0 {
            return;
        }
        let new = || self.of.map(|memory| memory.0.reserve(self.evict.clone()));
        for reservation in self.reservations.get_or_insert_with(new) {
            reservation.grow(kib).await;
        }
    }

    /// Waits for bytes from the client. The wait is short while other bodies need the room.
    async fn wait<T>(&self, end: Instant, bytes: impl Future<Output = T>) -> Result<T, HttpError> {
        self.set_waiting(true);
        let got = tokio::select! {
            biased;
            got = timeout_at(end, bytes) => got.map_err(|_| HttpError::SlowBody),
            () = self.evict.notified() => Err(HttpError::SlowBody),
        };
        self.set_waiting(false);
        got
    }

    fn set_waiting(&self, waiting: bool) {
        for reservation in self.reservations.iter().flatten() {
            reservation.set_waiting(waiting);
        }
    }
}
