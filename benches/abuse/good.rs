//! The potential victims of an attack: an API server with normal reviews, and a kubelet with its probes.

use crate::{
    client::Target,
    http,
    numbers::Latencies,
    plain::{self, Connection},
    reviews,
};
use setguard_testing::prelude::*;

/// The time between two reviews, and between two probes.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(crate) struct Good {
    /// Of answered reviews.
    pub(crate) latencies: Latencies,
    /// The number of unanswered reviews.
    pub(crate) failed: usize,
}

pub(crate) fn reviews(target: &Target, variables: usize, length: Duration) -> Good {
    let body = reviews::daemon_set_update(variables);
    let request = plain::post("/validate?timeout=10s", "", &body);
    let start = Instant::now();
    let mut good = Good::default();
    let mut kept = None;
    while start.elapsed() < length {
        let sent = Instant::now();
        let opened = kept.take().map_or_else(|| Connection::open(target.webhook, &target.tls), Ok);
        let answered = opened.and_then(|mut connection| {
            let (status, _) = connection.send(&request)?;
            Ok((status, connection))
        });
        match answered {
            Ok((200, connection)) => {
                good.latencies.0.push(sent.elapsed());
                kept = Some(connection);
            }
            Ok(_) | Err(_) => good.failed += 1,
        }
        thread::sleep(PAUSE);
    }
    good
}

pub(crate) fn longest_probe(target: &Target, length: Duration) -> String {
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    while start.elapsed() < length {
        let sent = Instant::now();
        if !http::get(target.admin, "/livez").starts_with("HTTP/1.1 200") {
            return format!("failed after {} ms", sent.elapsed().as_millis());
        }
        longest = longest.max(sent.elapsed());
        thread::sleep(PAUSE);
    }
    format!("{:.1} ms", longest.as_secs_f64() * 1e3)
}
