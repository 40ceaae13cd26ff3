//! A connection between setguard and the API server that can break like a network.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
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
    open: Vec<TcpStream>,
}

impl Link {
    pub fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared::default());
        let link = Link { port, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // If the target is down, the link closes the client's connection.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
                    shared.join(client, server);
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
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        state.silent = false;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn join(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let copy = |stream: &TcpStream| stream.try_clone().expect("a stream");
        for (from, to) in [(copy(&client), copy(&server)), (copy(&server), copy(&client))] {
            let shared = Arc::clone(self);
            thread::spawn(move || shared.pass(from, to));
        }
        self.state.lock().expect("an unpoisoned lock").open.extend([client, server]);
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
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
