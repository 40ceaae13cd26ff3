//! The limits of HTTP/1.1 and HTTP/2 connections.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{connections::Counted, stalls::Watched};

/// The longest wait for the head of a connection's next request. hyper includes the idle time
/// between requests. The API server drops idle connections after 90 s; if setguard closed a
/// connection first, the API server could be sending a request at that moment, and it does not
/// retry a POST.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
const _: () = assert!(IDLE_TIMEOUT.as_secs() > 90);

/// The number of bytes of an HTTP/1.1 connection that may wait to be parsed. hyper reads up to as
/// many again before it refuses a head.
const HTTP1_BUFFER: usize = 32 << 10;

/// The number of connections that may use HTTP/2; the others are offered HTTP/1.1 only. The API
/// server uses HTTP/2 only for a URL of its own host, and then one connection for every hundred
/// requests.
const HTTP2_CONNECTIONS: usize = 8;

/// The number of requests that an HTTP/2 connection may carry at a time. Go's client starts with up
/// to this many before it knows the limit.
const STREAMS: u32 = 100;

/// The number of bytes of a request that an HTTP/2 client may send before they are read. The
/// default of HTTP/2 is one byte less.
const STREAM_WINDOW: u32 = 64 << 10;

/// The window for all requests of a connection, so large that requests that wait for memory do not
/// stop the others. The total over all connections is 50 MiB.
const CONNECTION_WINDOW: u32 = STREAMS * STREAM_WINDOW;

/// An HTTP/2 client that does not answer a ping is disconnected.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Both protocols, with their limits.
#[derive(Clone, Debug)]
pub struct Protocols {
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
    http2_room: Arc<Semaphore>,
}

impl Default for Protocols {
    fn default() -> Self {
        // The protocol is known from ALPN. Detecting it by reading would have no timeout.
        let mut http1 = auto::Builder::new(TokioExecutor::new()).http1_only();
        http1
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(HTTP1_BUFFER);
        let mut http2 = auto::Builder::new(TokioExecutor::new()).http2_only();
        http2
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let http2_room = Arc::new(Semaphore::new(HTTP2_CONNECTIONS));
        Protocols { http1, http2, http2_room }
    }
}

impl Protocols {
    /// Returns the right of a connection to use HTTP/2, if there is room for one more.
    pub fn http2(&self) -> Option<OwnedSemaphorePermit> {
        self.http2_room.clone().try_acquire_owned().ok()
    }

    /// Answers the requests of a connection until it ends. After `close`, the connection ends when
    /// its requests in flight are answered, or after the time that `close` returns.
    pub async fn serve<S>(
        &self,
        stream: Watched<S>,
        service: Counted,
        close: impl Future<Output = Option<Duration>>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let builder = if stream.is_http2() { &self.http2 } else { &self.http1 };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            limit = close => {
                connection.as_mut().graceful_shutdown();
                match limit {
                    Some(limit) => timeout(limit, connection).await.unwrap_or(Ok(())),
                    None => connection.await,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(error, "a connection ended with an error");
        }
    }
}
