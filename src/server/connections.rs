//! The open connections of the webhook port: their limits, and which one closes to make room.

use std::{convert::Infallible, pin::pin};

use axum::http::Response;
use hyper::{
    body::{Body, Incoming},
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_io_timeout::TimeoutStream;

use super::body::BodyMemory;
use crate::server::prelude::*;

/// How many connections may use HTTP/2; the others are offered only HTTP/1.1. The API server uses HTTP/2 only for a URL
/// of its own host, and then one connection for every hundred requests.
const HTTP2_CONNECTIONS: usize = 8;

/// How long a connection may wait for the head of its next request. hyper includes the idle time between requests. The
/// API server drops idle connections after 90 s; if setguard closed one first, the API server could be sending a
/// request at that moment, and it does not retry a POST. A client that stops in the middle of a head counts as idle
/// too.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
const _: () = assert!(IDLE_TIMEOUT.as_secs() > 90);

/// How long a client may leave an answer unread. An API server reads every answer.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How often to ping an HTTP/2 client, and how long a client may send nothing, not even the preface.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// How many bytes of HTTP/1.1 may wait to be parsed. hyper reads up to as many again before it refuses a head.
const HTTP1_BUFFER: usize = 32 << 10;

/// How many requests an HTTP/2 connection may carry at a time. Go's client starts up to this many before it knows the
/// limit.
const STREAMS: u32 = 100;

/// How many unread bytes of a request an HTTP/2 client may send. The default of HTTP/2 is one byte less.
const STREAM_WINDOW: u32 = 64 << 10;

/// Large enough that requests that wait for memory do not stop the others. The total of all connections is 50 MiB.
const CONNECTION_WINDOW: u32 = STREAMS * STREAM_WINDOW;

/// How long to wait before the next search for an idle connection.
const PAUSE: Duration = Duration::from_millis(100);

/// All open connections.
#[derive(Debug)]
pub struct Connections {
    room: Arc<Semaphore>,
    http2_room: Arc<Semaphore>,
    open: Mutex<Vec<Arc<State>>>,
}

#[derive(Debug)]
struct State {
    requests: Mutex<Requests>,
    give_way: Notify,
    bodies: Arc<BodyMemory>,
}

#[derive(Debug)]
struct Requests {
    /// Requests with unsent answers, and the time when each answer was ready.
    open: BTreeMap<u64, Option<Instant>>,
    next: u64,
    /// The end of the last request, or else the time of the accept.
    used: Instant,
}

impl State {
    fn is_idle(&self) -> bool {
        self.requests.lock().open.is_empty()
    }
}

/// One connection. It is open until this is dropped.
#[derive(Debug)]
pub struct Connection {
    all: Arc<Connections>,
    state: Arc<State>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Connections {
    /// Creates a set of at most `limit` connections.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Connections {
            room: Arc::new(Semaphore::new(limit)),
            http2_room: Arc::new(Semaphore::new(HTTP2_CONNECTIONS)),
            open: Mutex::default(),
        })
    }

    /// Makes room for an accepted connection: closes the one that has been idle for longest, or waits until one is
    /// idle.
    pub async fn open(self: &Arc<Self>) -> Connection {
        let mut room = self.room.clone().try_acquire_owned().ok();
        while room.is_none() {
            self.close_idlest();
            let free = timeout(PAUSE, self.room.clone().acquire_owned()).await;
            room = free.ok().and_then(Result::ok);
        }
        self.add(room)
    }

    /// Opens a connection beyond the limit.
    pub fn open_one_more(self: &Arc<Self>) -> Connection {
        self.add(None)
    }

    /// Returns the right of a connection to use HTTP/2, if there is room for one more.
    pub fn http2(&self) -> Option<OwnedSemaphorePermit> {
        self.http2_room.clone().try_acquire_owned().ok()
    }

    fn add(self: &Arc<Self>, room: Option<OwnedSemaphorePermit>) -> Connection {
        let requests = Requests { open: BTreeMap::new(), next: 0, used: Instant::now() };
        let state = Arc::new(State {
            requests: Mutex::new(requests),
            give_way: Notify::new(),
            bodies: Arc::new(BodyMemory::of_connection()),
        });
        self.open.lock().push(state.clone());
        Connection { all: self.clone(), state, _room: room }
    }

    fn close_idlest(&self) {
        let open = self.open.lock();
        let idle = open.iter().filter(|state| state.is_idle());
        if let Some(idlest) = idle.min_by_key(|state| state.requests.lock().used) {
            idlest.give_way.notify_one();
        }
    }
}

impl Connection {
    /// Runs the connection until it ends, its client leaves an answer unread, or it has to make room. A connection
    /// never makes room while a request is unanswered.
    pub async fn run(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = work => {}
            reason = self.must_end() => tracing::debug!(reason, "closed a connection"),
        }
    }

    async fn must_end(&self) -> &'static str {
        loop {
            // HTTP/2 lets a client hold back an answer while it reads everything else.
            let oldest = self.state.requests.lock().open.values().flatten().min().copied();
            let end = oldest.unwrap_or_else(Instant::now) + UNREAD_TIMEOUT;
            if end <= Instant::now() {
                return "the client did not read an answer";
            }
            tokio::select! {
                () = sleep_until(end) => {}
                () = self.state.give_way.notified() => {
                    if self.state.is_idle() {
                        return "an idle connection gave way to another";
                    }
                }
            }
        }
    }

    /// Answers the requests of the connection with `router` until it ends. After `close`, the connection ends when its
    /// requests in flight are answered, or after the time that `close` returns.
    pub async fn serve<S>(
        &self,
        stream: S,
        is_http2: bool,
        router: Router,
        close: impl Future<Output = Option<Duration>>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(UNREAD_TIMEOUT));
        // ALPN has settled the protocol. Detecting it by reading would have no timeout.
        let mut builder = auto::Builder::new(TokioExecutor::new());
        if is_http2 {
            stream.set_read_timeout(Some(SILENCE_TIMEOUT));
            builder = builder.http2_only();
            builder
                .http2()
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_INTERVAL)
                .max_concurrent_streams(STREAMS)
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW);
        } else {
            builder = builder.http1_only();
            builder
                .http1()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE_TIMEOUT)
                .max_buf_size(HTTP1_BUFFER);
        }
        let stream = TokioIo::new(Box::pin(stream));
        let mut connection =
            pin!(builder.serve_connection(stream, service(self.state.clone(), router)));
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

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.open.lock().retain(|state| !Arc::ptr_eq(state, &self.state));
    }
}

fn service(
    state: Arc<State>,
    router: Router,
) -> impl Service<
    Request<Incoming>,
    Response = Response<impl Body<Data = Bytes, Error = axum::Error> + Send + 'static>,
    Error = Infallible,
    Future: Send + 'static,
> {
    let router = TowerToHyperService::new(router);
    service_fn(move |mut request: Request<Incoming>| {
        let in_flight = Arc::new(InFlight::new(state.clone()));
        request.extensions_mut().insert(state.bodies.clone());
        let answer = router.call(request);
        async move {
            let answer = answer.await?;
            in_flight.answered();
            let unsent = move |bytes| Unsent { bytes, _in_flight: in_flight.clone() };
            Ok::<_, Infallible>(answer.map(|body| {
                body.map_frame(move |frame| frame.map_data(|it| Bytes::from_owner(unsent(it))))
            }))
        }
    })
}

/// A request whose answer has not been sent. A request also ends if the client resets it.
#[derive(Debug)]
struct InFlight {
    state: Arc<State>,
    id: u64,
}

impl InFlight {
    fn new(state: Arc<State>) -> Self {
        let mut requests = state.requests.lock();
        let id = requests.next;
        requests.next += 1;
        requests.open.insert(id, None);
        drop(requests);
        InFlight { state, id }
    }

    fn answered(&self) {
        self.state.requests.lock().open.insert(self.id, Some(Instant::now()));
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut requests = self.state.requests.lock();
        requests.open.remove(&self.id);
        requests.used = Instant::now();
    }
}

/// HTTP/2 keeps the bytes of an answer until the client allows them to be sent. Until then, the request is in flight.
struct Unsent {
    bytes: Bytes,
    _in_flight: Arc<InFlight>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
