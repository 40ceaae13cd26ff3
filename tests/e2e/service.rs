//! What kube-proxy does for a Service: one address, behind which ready pods come and go.

use std::{
    collections::VecDeque,
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// How long it takes until a change of the endpoints is heeded, as in a cluster.
const PROPAGATION: Duration = Duration::from_secs(1);

/// One address on the loopback interface. It serves until the tests end.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) port: u16,
    endpoints: Arc<Mutex<History>>,
}

/// The endpoints as they were, each since when; the newest last.
#[derive(Debug, Default)]
struct History {
    seen: VecDeque<(Instant, Vec<SocketAddr>)>,
    next: usize,
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let endpoints = Arc::new(Mutex::new(History::default()));
        let shared = Arc::clone(&endpoints);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let endpoint = shared.lock().expect("nobody panics with it").choose();
                // Without one, the client sees that it is closed.
                if let Some(pod) = endpoint.and_then(|address| TcpStream::connect(address).ok()) {
                    // A connection that breaks off is the client's affair.
                    drop(join(&client, &pod));
                }
            }
        });
        Service { port, endpoints }
    }

    /// These are ready now.
    pub(crate) fn set(&self, ready: Vec<SocketAddr>) {
        let mut history = self.endpoints.lock().expect("nobody panics with it");
        if history.seen.back().is_none_or(|(_, last)| *last != ready) {
            history.seen.push_back((Instant::now(), ready));
        }
    }
}

impl History {
    /// One after the other.
    fn choose(&mut self) -> Option<SocketAddr> {
        let known = |(since, _): &(Instant, _)| since.elapsed() >= PROPAGATION;
        while self.seen.get(1).is_some_and(known) {
            self.seen.pop_front();
        }
        let (_, ready) = self.seen.front().filter(|first| known(first))?;
        self.next += 1;
        ready.get(self.next % ready.len().max(1)).copied()
    }
}

/// Copies both ways until both have ended.
fn join(client: &TcpStream, pod: &TcpStream) -> io::Result<()> {
    for (from, to) in [(client, pod), (pod, client)] {
        from.set_nodelay(true)?;
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
