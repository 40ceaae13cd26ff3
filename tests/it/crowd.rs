//! A crowd of connections does not lock out other clients.

use std::io::Write as _;

use futures::{StreamExt as _, stream};
use tokio::io::AsyncWriteExt as _;

use crate::prelude::*;
use crate::{daemon::DEADLINE, http2, serve::daemon};

/// More than the connection limit of a port.
const CROWD: usize = 530;

#[test]
fn idle_connections_give_way_to_new_ones_and_busy_ones_do_not() {
    let (daemon, client) = daemon(&[]);
    let review = review("validate/daemonset-create");

    // The oldest connection has half a request.
    let mut busy = client.connect(daemon.webhook).unwrap();
    send(&mut busy, "/validate", &review, review.len() / 2);
    daemon.measured("setguard_in_flight_requests 1");
    // The next connection has completed a request; the last one lacks even a handshake.
    let mut idle = client.connect(daemon.webhook).unwrap();
    assert_eq!(post(&mut idle, "/validate", &review).status, 200);
    let mut silent = TcpStream::connect(daemon.webhook).unwrap();
    silent.set_read_timeout(Some(DEADLINE)).unwrap();

    let mut crowd: Vec<_> = (0..CROWD).map(|_| client.connect(daemon.webhook).unwrap()).collect();
    let last = crowd.last_mut().unwrap();
    assert_eq!(post(last, "/validate", &review).status, 200);

    // The server closes the connection that has waited longest without a request.
    let mut rest = Vec::new();
    assert!(idle.read_to_end(&mut rest).is_err() && rest.is_empty());
    let _ = silent.read_to_end(&mut rest);
    assert!(rest.is_empty());
    // The half request still gets its answer.
    busy.write_all(&review.as_bytes()[review.len() / 2..]).unwrap();
    assert_eq!(Reply::read(&mut busy).status, 200);
}

#[test]
fn probes_are_answered_while_a_client_holds_connections_to_the_admin_port() {
    let (daemon, _) = daemon(&[]);
    let crowd: Vec<_> = (0..CROWD).map(|_| TcpStream::connect(daemon.admin).unwrap()).collect();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(daemon.get(path).status, 200, "{path}");
    }
    drop(crowd);
}

/// The size of a body, and the part that arrives.
const ANNOUNCED: usize = 8 << 20;
const ARRIVES: usize = 32 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn stalled_bodies_do_not_keep_reviews_waiting() {
    let (daemon, client) = daemon(&[]);
    let (mut http1, mut http2) = (Vec::new(), Vec::new());
    for _ in 0..56 {
        http1.push(http2::tls(&daemon, client.config()).await.unwrap());
    }
    for _ in 0..8 {
        http2.push(http2::connect(&daemon, client.clone()).await.unwrap());
    }
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {ANNOUNCED}\r\n\r\n"
    );
    let begin = [head.as_bytes(), &[b' '; ARRIVES]].concat();
    for stream in &mut http1 {
        stream.write_all(&begin).await.unwrap();
    }
    for sender in &mut http2 {
        for _ in 0..8 {
            let body = stream::iter([Ok::<_, std::io::Error>(vec![b' '; ARRIVES])]);
            let body = Body::from_stream(body.chain(stream::pending()));
            tokio::spawn(sender.send_request(http2::post(&daemon, "/validate", body)));
        }
    }
    daemon.measured("setguard_in_flight_requests 120");

    let review = review("validate/daemonset-create");
    for _ in 0..10 {
        let mut good = client.connect(daemon.webhook).unwrap();
        for _ in 0..10 {
            assert_eq!(post(&mut good, "/validate?timeout=5s", &review).status, 200);
        }
    }
}
