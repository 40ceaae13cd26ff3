//! The open connections of the webhook port, and which of them closes when there is no room for
//! another.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use axum::{
    Router,
    http::{Request, Response},
};
use hyper::{body::Incoming, service::Service};
use hyper_util::service::TowerToHyperService;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::body::Budget;

/// How long to wait for room before looking for an idle connection again.
const PAUSE: Duration = Duration::from_millis(100);

/// All open connections.
#[derive(Debug)]
pub struct Connections {
    room: Arc<Semaphore>,
    open: Mutex<BTreeMap<u64, Arc<State>>>,
    /// Counts accepted connections and ended requests, to order them.
    events: AtomicU64,
}

/// What is known about an open connection.
#[derive(Debug)]
struct State {
    /// Requests that have arrived and are not answered.
    requests: AtomicUsize,
    /// When it last ended a request, or else when it was accepted, as a number of [`Connections`].
    used: AtomicU64,
    give_way: Notify,
    /// The memory for the bodies of its requests.
    bodies: Arc<Budget>,
}

/// One connection. It is open until this is dropped.
#[derive(Debug)]
pub struct Connection {
    all: Arc<Connections>,
    id: u64,
    state: Arc<State>,
    _room: OwnedSemaphorePermit,
}

impl Connections {
    /// At most `limit` connections.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Connections {
            room: Arc::new(Semaphore::new(limit)),
            open: Mutex::default(),
            events: AtomicU64::new(0),
        })
    }

    /// Makes room for a connection that has been accepted. If there is none, the connection that
    /// has been idle for longest closes; if none is idle, this waits.
    pub async fn open(self: &Arc<Self>) -> Connection {
        loop {
            if let Some(connection) = self.try_open() {
                return connection;
            }
            self.close_idlest();
            if let Ok(Ok(room)) = timeout(PAUSE, self.room.clone().acquire_owned()).await {
                return self.add(room);
            }
        }
    }

    /// As [`open`](Self::open), but does not wait, and closes nothing.
    pub fn try_open(self: &Arc<Self>) -> Option<Connection> {
        Some(self.add(self.room.clone().try_acquire_owned().ok()?))
    }

    fn add(self: &Arc<Self>, room: OwnedSemaphorePermit) -> Connection {
        let id = self.next_event();
        let state = Arc::new(State {
            requests: AtomicUsize::new(0),
            used: AtomicU64::new(id),
            give_way: Notify::new(),
            bodies: Arc::new(Budget::of_connection()),
        });
        self.lock().insert(id, state.clone());
        Connection { all: self.clone(), id, state, _room: room }
    }

    fn close_idlest(&self) {
        let open = self.lock();
        let idle = open.values().filter(|state| state.is_idle());
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

impl State {
    fn is_idle(&self) -> bool {
        self.requests.load(Acquire) == 0
    }
}

impl Connection {
    /// Runs the connection until it ends or has to give way to another. It never gives way while a
    /// request is not answered.
    pub async fn run(self, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                () = &mut work => return,
                () = self.state.give_way.notified() => {
                    if self.state.is_idle() {
                        tracing::debug!("an idle connection gave way to another");
                        return;
                    }
                }
            }
        }
    }

    /// A service that answers with `router` and counts the requests of this connection.
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
    type Response = Response<axum::body::Body>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let counted = InFlight::new(self);
        request.extensions_mut().insert(self.state.bodies.clone());
        let answer = self.router.call(request);
        Box::pin(async move {
            let _counted = counted;
            answer.await
        })
    }
}

/// A request that is not answered. It also ends if the client resets it.
struct InFlight {
    all: Arc<Connections>,
    state: Arc<State>,
}

impl InFlight {
    fn new(service: &Counted) -> Self {
        service.state.requests.fetch_add(1, AcqRel);
        InFlight { all: service.all.clone(), state: service.state.clone() }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.state.used.store(self.all.next_event(), Relaxed);
        self.state.requests.fetch_sub(1, Release);
    }
}
