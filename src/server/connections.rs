//! The open connections of the webhook port, and the choice of the connection that closes when
//! there is no room for another.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, Response},
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    service::Service,
};
use hyper_util::service::TowerToHyperService;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{body::BodyMemory, stalls::Stalls};

/// The wait for room before the next search for an idle connection.
const PAUSE: Duration = Duration::from_millis(100);

/// All open connections.
#[derive(Debug)]
pub struct Connections {
    room: Arc<Semaphore>,
    open: Mutex<BTreeMap<u64, Arc<State>>>,
    /// Counts accepted connections and ended requests, to order them.
    events: AtomicU64,
}

/// The state of an open connection.
#[derive(Debug)]
struct State {
    /// The connection's requests, and the pending actions of its client.
    stalls: Arc<Stalls>,
    /// The order of the last ended request, or else of the accept, as counted by
    /// `Connections::events`.
    used: AtomicU64,
    give_way: Notify,
    /// The memory for the bodies of its requests.
    bodies: Arc<BodyMemory>,
}

/// One connection. It is open until this is dropped.
#[derive(Debug)]
pub struct Connection {
    all: Arc<Connections>,
    id: u64,
    state: Arc<State>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Connections {
    /// Creates a set of at most `limit` connections.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Connections {
            room: Arc::new(Semaphore::new(limit)),
            open: Mutex::default(),
            events: AtomicU64::new(0),
        })
    }

    /// Makes room for a connection that has been accepted. If there is no room, the connection that
    /// has been idle for longest closes; if none is idle, this waits.
    pub async fn open(self: &Arc<Self>) -> Connection {
        loop {
            if let Some(connection) = self.try_open() {
                return connection;
            }
            self.close_idlest();
            if let Ok(Ok(room)) = timeout(PAUSE, self.room.clone().acquire_owned()).await {
                return self.add(Some(room));
            }
        }
    }

    /// Works like [`open`](Self::open), but does not wait and closes nothing.
    pub fn try_open(self: &Arc<Self>) -> Option<Connection> {
        Some(self.add(Some(self.room.clone().try_acquire_owned().ok()?)))
    }

    /// Opens a connection beyond the limit.
    pub fn open_one_more(self: &Arc<Self>) -> Connection {
        self.add(None)
    }

    fn add(self: &Arc<Self>, room: Option<OwnedSemaphorePermit>) -> Connection {
        let id = self.next_event();
        let state = Arc::new(State {
            stalls: Arc::default(),
            used: AtomicU64::new(id),
            give_way: Notify::new(),
            bodies: Arc::new(BodyMemory::of_connection()),
        });
        self.lock().insert(id, state.clone());
        Connection { all: self.clone(), id, state, _room: room }
    }

    fn close_idlest(&self) {
        let open = self.lock();
        let idle = open.values().filter(|state| state.stalls.is_idle());
        if let Some(idlest) = idle.min_by_key(|state| state.used.load(Relaxed)) {
            idlest.give_way.notify_one();
        }
    }

    fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<State>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Runs the connection until it ends, its client stalls, or it has to give way to another. A
    /// connection never gives way while a request is unanswered.
    pub async fn run(self, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        let mut too_long = pin!(self.state.stalls.too_long());
        loop {
            tokio::select! {
                biased;
                () = &mut work => return,
                reason = &mut too_long => {
                    tracing::debug!(reason, "closed a connection");
                    return;
                }
                () = self.state.give_way.notified() => {
                    if self.state.stalls.is_idle() {
                        tracing::debug!("an idle connection gave way to another");
                        return;
                    }
                }
            }
        }
    }

    /// Returns the pending actions of its client.
    pub fn stalls(&self) -> Arc<Stalls> {
        self.state.stalls.clone()
    }

    /// Returns a service that answers with `router` and counts the requests of this connection.
    pub fn count(&self, router: Router) -> Counted {
        Counted {
            router: TowerToHyperService::new(router),
            all: self.all.clone(),
            state: self.state.clone(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

/// The service of one connection.
#[derive(Clone, Debug)]
pub struct Counted {
    router: TowerToHyperService<Router>,
    all: Arc<Connections>,
    state: Arc<State>,
}

impl Service<Request<Incoming>> for Counted {
    type Response = Response<Answer>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let in_flight = Arc::new(InFlight::new(self));
        request.extensions_mut().insert(self.state.bodies.clone());
        let answer = self.router.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            in_flight.state.stalls.answered(in_flight.id);
            Ok(answer.map(|body| Answer { body, in_flight }))
        })
    }
}

/// A request whose answer has not been sent. A request also ends if the client resets it.
#[derive(Debug)]
struct InFlight {
    all: Arc<Connections>,
    state: Arc<State>,
    id: u64,
}

impl InFlight {
    fn new(service: &Counted) -> Self {
        let id = service.state.stalls.request();
        InFlight { all: service.all.clone(), state: service.state.clone(), id }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.state.used.store(self.all.next_event(), Relaxed);
        self.state.stalls.ended(self.id);
    }
}

/// The body of an answer. The request is in flight until all its bytes are sent: HTTP/2 keeps them
/// for as long as the client does not allow them to be sent.
#[derive(Debug)]
pub struct Answer {
    body: Body,
    in_flight: Arc<InFlight>,
}

/// Bytes of an answer that have not been sent.
struct Unsent {
    bytes: Bytes,
    _in_flight: Arc<InFlight>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        let unsent = |bytes| Unsent { bytes, _in_flight: self.in_flight.clone() };
        frame.map_ok(|frame| frame.map_data(|bytes| Bytes::from_owner(unsent(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
