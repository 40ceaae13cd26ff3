//! Detects a client that stalls: one that does not finish a request, or does not read an answer.

use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep, sleep_until},
};

/// The time that a client may stall. The API server sends a request at once and reads every answer.
pub const STALL_LIMIT: Duration = Duration::from_secs(10);

/// The bytes with which an HTTP/2 client begins.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// The pending actions of a connection's client, each with the time since when it is pending.
#[derive(Debug, Default)]
pub struct Stalls(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    /// The time since when the head of a request, or the HTTP/2 preface, is incomplete.
    head: Option<Instant>,
    /// The time since when the client accepts no bytes.
    write: Option<Instant>,
    /// The requests whose answer has not been sent, in the order in which they arrived, each with
    /// the time since when the answer has been ready.
    requests: BTreeMap<u64, Option<Instant>>,
    /// The number of the next request.
    next: u64,
}

impl Stalls {
    /// Records that a request has arrived. Returns its number.
    pub fn request(&self) -> u64 {
        let mut pending = self.lock();
        let id = pending.next;
        pending.next += 1;
        pending.head = None;
        pending.requests.insert(id, None);
        id
    }

    /// Records that the answer to a request is ready to be sent.
    pub fn answered(&self, id: u64) {
        self.lock().requests.insert(id, Some(Instant::now()));
    }

    /// Records that the answer to a request was sent, or is no longer wanted.
    pub fn ended(&self, id: u64) {
        self.lock().requests.remove(&id);
    }

    /// Returns whether no request is waiting for its answer.
    pub fn is_idle(&self) -> bool {
        self.lock().requests.is_empty()
    }

    /// Completes once the client has stalled for [`STALL_LIMIT`], and returns a description.
    pub async fn too_long(&self) -> &'static str {
        loop {
            let longest = self.lock().longest();
            match longest.map(|(since, why)| (since + STALL_LIMIT, why)) {
                Some((end, why)) if end <= Instant::now() => return why,
                Some((end, _)) => sleep_until(end).await,
                // An action that becomes pending in the meantime has this long, too.
                None => sleep(STALL_LIMIT).await,
            }
        }
    }

    fn begin_head(&self) {
        let mut pending = self.lock();
        // Otherwise the bytes belong to the body of a request.
        if pending.requests.is_empty() {
            pending.head.get_or_insert_with(Instant::now);
        }
    }

    fn end_head(&self) {
        self.lock().head = None;
    }

    fn set_write(&self, since: Option<Instant>) {
        self.lock().write = since;
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn longest(&self) -> Option<(Instant, &'static str)> {
        let head = self.head.map(|since| (since, "the client did not finish a request"));
        let write = self.write.map(|since| (since, "the client did not read"));
        let answers = self.requests.values().flatten().min();
        let answer = answers.map(|since| (*since, "the client did not read an answer"));
        [head, write, answer].into_iter().flatten().min()
    }
}

/// The stream of a connection, which reports its progress to [`Stalls`].
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    stalls: Arc<Stalls>,
    /// The number of bytes of the HTTP/2 preface that have not arrived; `None` for HTTP/1.1.
    preface: Option<usize>,
    /// Whether the last write made no progress.
    blocked: bool,
}

impl<S> Watched<S> {
    /// Watches a stream from its first byte on.
    pub fn new(stream: S, stalls: Arc<Stalls>, is_http2: bool) -> Self {
        if is_http2 {
            stalls.begin_head();
        }
        Watched { stream, stalls, preface: is_http2.then_some(PREFACE), blocked: false }
    }

    /// Returns whether the client speaks HTTP/2.
    pub const fn is_http2(&self) -> bool {
        self.preface.is_some()
    }

    fn read(&mut self, bytes: usize) {
        match &mut self.preface {
            // Go's client keeps HTTP/1.1 connections in reserve, on which it has sent nothing yet.
            None if bytes > 0 => self.stalls.begin_head(),
            None | Some(0) => {}
            Some(missing) => {
                *missing = missing.saturating_sub(bytes);
                if *missing == 0 {
                    self.stalls.end_head();
                }
            }
        }
    }

    fn wrote<T>(&mut self, progress: Poll<T>) -> Poll<T> {
        if self.blocked != progress.is_pending() {
            self.blocked = progress.is_pending();
            self.stalls.set_write(self.blocked.then(Instant::now));
        }
        progress
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        this.read(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.wrote(progress)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_write_vectored(cx, buffers);
        this.wrote(progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_flush(cx);
        this.wrote(progress)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.wrote(progress)
    }
}
