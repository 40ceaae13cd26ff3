//! The shutdown of a server with requests in flight.

use std::io::Write as _;

use super::daemon;
use crate::daemon::{Client, Daemon, Reply, Tls, eventually, post, review, send};

struct Half {
    stream: Tls,
    rest: String,
}

impl Half {
    fn send(daemon: &Daemon, client: &Client) -> Self {
        let mut stream = client.connect(daemon.webhook).unwrap();
        let body = review("validate/daemonset-create");
        let half = body.len() / 2;
        send(&mut stream, "/validate", &body, half);
        daemon.measured("setguard_in_flight_requests 1");
        Half { stream, rest: body[half..].to_owned() }
    }

    fn finish(mut self) -> Reply {
        self.stream.write_all(self.rest.as_bytes()).unwrap();
        self.stream.flush().unwrap();
        Reply::read(&mut self.stream)
    }
}

const SHUTTING_DOWN: &str = "shutting down; a second signal exits immediately";

#[test]
fn a_request_in_flight_is_finished_before_the_end() {
    for signal in ["TERM", "INT"] {
        let (mut daemon, client) = daemon(&[]);
        // Go's client keeps spare connections without ever sending anything on them.
        let _reserve = client.connect(daemon.webhook).unwrap();
        let half = Half::send(&daemon, &client);
        daemon.signal(signal);
        daemon.logged(SHUTTING_DOWN);
        assert_eq!((daemon.get("/readyz").status, daemon.get("/livez").status), (503, 200));
        eventually("a closed port", || client.connect(daemon.webhook).is_err().then_some(()));
        let reply = half.finish();
        assert_eq!(reply.status, 200);
        assert!(reply.head.contains("connection: close"), "{}", reply.head);
        assert_eq!(daemon.wait().code(), Some(0), "SIG{signal}");
    }
}

#[test]
fn while_it_drains_it_answers_and_closes_connections() {
    let (mut daemon, client) = daemon(&["--drain-delay", "10m"]);
    daemon.signal("TERM");
    daemon.logged(SHUTTING_DOWN);
    assert_eq!(daemon.get("/readyz").status, 503);
    let mut stream = client.connect(daemon.webhook).unwrap();
    let reply = post(&mut stream, "/validate", &review("validate/daemonset-create"));
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    daemon.signal("INT");
    assert_eq!(daemon.wait().code(), Some(130));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (mut daemon, client) = daemon(&[]);
    let _half = Half::send(&daemon, &client);
    daemon.signal("TERM");
    daemon.logged(SHUTTING_DOWN);
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(143));
}

#[test]
fn requests_that_outlast_the_grace_period_are_cut_off_and_logged() {
    let (mut daemon, client) = daemon(&["--grace-period", "50ms"]);
    let _half = Half::send(&daemon, &client);
    daemon.signal("TERM");
    let line = daemon.logged("the grace period is over; these requests get no answer");
    assert_eq!(line["fields"]["in_flight"], 1);
    assert_eq!(daemon.wait().code(), Some(1));
}
