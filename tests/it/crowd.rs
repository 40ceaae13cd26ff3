//! Clients that hold connections keep nobody else out.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::{
    daemon::{DEADLINE, Reply, post, review, send},
    serve::daemon,
};

/// More connections than a port keeps open.
const CROWD: usize = 530;

#[test]
fn idle_connections_give_way_to_new_ones_and_busy_ones_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let (daemon, client) = daemon(dir.path(), &[]);
    let review = review("validate/daemonset-create");

    // The oldest connection has sent half a request.
    let mut busy = client.connect(daemon.webhook).unwrap();
    send(&mut busy, "/validate", &review, review.len() / 2);
    daemon.measured("setguard_in_flight_requests 1");
    // The next one has had a request, and this one not even a handshake.
    let mut idle = client.connect(daemon.webhook).unwrap();
    assert_eq!(post(&mut idle, "/validate", &review).status, 200);
    let mut silent = TcpStream::connect(daemon.webhook).unwrap();
    silent.set_read_timeout(Some(DEADLINE)).unwrap();

    let mut crowd: Vec<_> = (0..CROWD).map(|_| client.connect(daemon.webhook).unwrap()).collect();
    let last = crowd.last_mut().unwrap();
    assert_eq!(post(last, "/validate", &review).status, 200);

    // Whoever waited longest without a request is gone.
    let mut rest = Vec::new();
    assert!(idle.read_to_end(&mut rest).is_err() && rest.is_empty());
    let _ = silent.read_to_end(&mut rest);
    assert!(rest.is_empty());
    // The half request still gets its answer.
    busy.write_all(&review.as_bytes()[review.len() / 2..]).unwrap();
    assert_eq!(Reply::read(&mut busy).status, 200);
}

#[test]
fn probes_are_answered_while_somebody_holds_connections_to_the_admin_port() {
    let dir = tempfile::tempdir().unwrap();
    let (daemon, _) = daemon(dir.path(), &[]);
    let crowd: Vec<_> = (0..CROWD).map(|_| TcpStream::connect(daemon.admin).unwrap()).collect();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(daemon.get(path).status, 200, "{path}");
    }
    drop(crowd);
}
