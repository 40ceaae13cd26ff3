//! Forwarded connections, such as setguard's to the API server. They can break like a network.

use std::{
    io::Read, io::Write, net::Shutdown, net::SocketAddr, net::TcpListener, net::TcpStream,
    sync::Arc, sync::Condvar, sync::Mutex, sync::Weak, thread,
};

/// A loopback port that forwards to a second port. Serves until the tests end.
#[derive(Debug)]
pub struct Link {
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Passes nothing, and closes nothing.
    silent: bool,
    /// Both ends of each connection.
    open: Vec<Weak<TcpStream>>,
}

impl Link {
    pub fn to(target: u16) -> Self {
        Self::through(move || Some(SocketAddr::from(([127, 0, 0, 1], target))))
    }

    /// Forwards each connection to the address that is chosen for it.
    pub fn through(choose: impl Fn() -> Option<SocketAddr> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared::default());
        let link = Link { port, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a target, or if it is down, the link closes the client's connection.
                if let Some(server) = choose().and_then(|it| TcpStream::connect(it).ok()) {
                    shared.join([client, server]);
                }
            }
        });
        link
    }

    /// Drops all data silently, without closing connections.
    pub fn silence(&self) {
        self.shared.state.lock().expect("an unpoisoned lock").silent = true;
    }

    /// Closes all connections. New connections work.
    pub fn cut(&self) {
        let mut state = self.shared.state.lock().expect("an unpoisoned lock");
        for stream in state.open.drain(..).filter_map(|it| it.upgrade()) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        state.silent = false;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn join(self: &Arc<Self>, ends: [TcpStream; 2]) {
        ends.iter().for_each(|it| drop(it.set_nodelay(true)));
        let [client, server] = ends.map(Arc::new);
        let weak = [&client, &server].map(Arc::downgrade);
        self.state.lock().expect("an unpoisoned lock").open.extend(weak);
        for (from, to) in [(client.clone(), server.clone()), (server, client)] {
            let shared = Arc::clone(self);
            thread::spawn(move || shared.pass(&from, &to));
        }
    }

    fn pass(&self, mut from: &TcpStream, mut to: &TcpStream) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let state = self.state.lock().expect("an unpoisoned lock");
            drop(self.changed.wait_while(state, |state| state.silent));
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}
