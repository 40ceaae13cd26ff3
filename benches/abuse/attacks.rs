//! The attacks. Each attack runs to its end and reports what it sent.

use std::{io, pin::Pin};

use axum::body::{Body, Bytes};
use futures::{StreamExt as _, future::join_all, stream};
use tokio::{
    io::AsyncWriteExt as _,
    time::{sleep_until, timeout, timeout_at},
};

use crate::{client::Target, objects, reviews};
use setguard_testing::prelude::*;

type Running = Pin<Box<dyn Future<Output = String> + Send>>;

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Whether the benchmark reads the server's log.
    pub(crate) reads_log: bool,
    /// The size of the concurrent good reviews, in environment variables.
    pub(crate) good: usize,
    pub(crate) run: fn(Target, Instant) -> Running,
}

const fn attack(name: &'static str, run: fn(Target, Instant) -> Running) -> Attack {
    Attack { name, reads_log: true, good: reviews::SMALL, run }
}

pub(crate) const ATTACKS: [Attack; 12] = [
    attack("6,000 tolerations", |target, end| send(target, end, objects::tolerations())),
    attack("In against NotIn terms", |target, end| send(target, end, objects::terms())),
    attack("900 controlling owners", |target, end| send(target, end, objects::owners())),
    attack("300 KB of volumes", |target, end| send(target, end, objects::volumes(100_000))),
    attack("1.5 MB of volumes", |target, end| send(target, end, objects::volumes(500_000))),
    attack("64 stalled bodies, HTTP/1.1", |target, end| Box::pin(stall_http1(target, end))),
    attack("64 stalled bodies, HTTP/2", |target, end| Box::pin(stall_http2(target, end))),
    Attack {
        good: reviews::MIDDLE,
        ..attack("120 bodies that stop before their end", |target, end| {
            Box::pin(stop_short(target, end))
        })
    },
    attack("600 idle connections", |target, end| Box::pin(idle(target, end))),
    attack("unread answers", |target, end| Box::pin(unread(target, end))),
    attack("rapid reset", |target, end| Box::pin(reset(target, end))),
    Attack {
        reads_log: false,
        ..attack("log reader that stops", |target, end| {
            send(target, end, reviews::daemon_set_update(reviews::SMALL))
        })
    },
];

/// The announced size of a stalled body, and the part that arrives.
const ANNOUNCED: usize = 8 << 20;
const ARRIVES: usize = 2 << 20;

fn send(target: Target, end: Instant, review: Vec<u8>) -> Running {
    let review = Bytes::from(review);
    let kilobytes = review.len() / 1000;
    Box::pin(async move {
        let one = || repeat(target.clone(), end, review.clone());
        let sent: usize = join_all((0..4).map(|_| one())).await.into_iter().sum();
        format!("{sent} times {kilobytes} KB")
    })
}

async fn repeat(target: Target, end: Instant, review: Bytes) -> usize {
    let mut sent = 0;
    while Instant::now() < end {
        let Ok(mut sender) = target.http1().await else { continue };
        while Instant::now() < end && sender.ready().await.is_ok() {
            sent += 1;
            let answer = sender.send_request(target.post("/validate", review.clone()));
            let Ok(Ok(answer)) = timeout_at(end.into(), answer).await else { break };
            let _ =
                timeout_at(end.into(), Body::new(answer.into_body()).into_data_stream().count())
                    .await;
        }
    }
    sent
}

/// The head of a review with this content length, and the first `arrives` bytes of its body.
fn begun(length: usize, arrives: usize) -> Vec<u8> {
    let head = format!(
        "POST /validate?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), &vec![b' '; arrives]].concat()
}

/// Keeps 64 connections busy, each with a body that arrives only in part.
async fn stall_http1(target: Target, end: Instant) -> String {
    let part = begun(ANNOUNCED, ARRIVES);
    let one = || async {
        let mut stream = target.tls("http/1.1").await?;
        let _ = timeout_at(end.into(), stream.write_all(&part)).await;
        sleep_until(end.into()).await;
        io::Result::Ok(())
    };
    let done = join_all((0..64).map(|_| one())).await;
    let open = done.iter().filter(|done| done.is_ok()).count();
    format!("{open} of 64 bodies, 2 of 8 MiB each")
}

/// Keeps 120 connections busy, each with a 1.5 MB body without its last byte. Opens closed connections again.
async fn stop_short(target: Target, end: Instant) -> String {
    const LENGTH: usize = 1_500_000;
    let part = begun(LENGTH, LENGTH - 1);
    let one = || async {
        let mut sent = 0;
        while Instant::now() < end {
            let Ok(mut stream) = target.tls("http/1.1").await else { continue };
            if let Ok(Ok(())) = timeout_at(end.into(), stream.write_all(&part)).await {
                sent += 1;
            }
            // Ends when the server closes the connection.
            let _ =
                timeout_at(end.into(), tokio::io::copy(&mut stream, &mut tokio::io::sink())).await;
        }
        sent
    };
    let sent: usize = join_all((0..120).map(|_| one())).await.into_iter().sum();
    format!("{sent} bodies, 120 at a time")
}

/// Like [`stall_http1`], over HTTP/2: eight connections with 64 bodies each.
async fn stall_http2(target: Target, end: Instant) -> String {
    let part = Bytes::from(vec![b' '; ARRIVES]);
    let mut streams = 0;
    let mut senders = Vec::new();
    for _ in 0..8 {
        let Ok(mut sender) = target.http2(1 << 20).await else { continue };
        for _ in 0..64 {
            let part = stream::iter([io::Result::Ok(part.clone())]);
            let body = Body::from_stream(part.chain(stream::pending()));
            tokio::spawn(sender.send_request(target.post("/validate", body)));
            streams += 1;
        }
        senders.push(sender);
    }
    sleep_until(end.into()).await;
    format!("{streams} bodies on {} connections, 2 of 8 MiB each", senders.len())
}

async fn idle(target: Target, end: Instant) -> String {
    let open = join_all((0..600).map(|_| target.tls("http/1.1"))).await;
    sleep_until(end.into()).await;
    format!("{} of 600 handshakes", open.iter().filter(|stream| stream.is_ok()).count())
}

/// Requests large answers on eight HTTP/2 connections without window space to receive them.
async fn unread(target: Target, end: Instant) -> String {
    let review = Bytes::from(objects::owners());
    let mut senders = Vec::new();
    let mut requests = 0;
    for _ in 0..8 {
        let Ok(mut sender) = target.http2(0).await else { continue };
        for _ in 0..100 {
            let answer = sender.send_request(target.post("/validate", review.clone()));
            tokio::spawn(async move {
                let answer = answer.await;
                sleep_until((end + Duration::from_secs(1)).into()).await;
                drop(answer);
            });
            requests += 1;
        }
        senders.push(sender);
    }
    sleep_until(end.into()).await;
    format!("{requests} requests on {} connections", senders.len())
}

async fn reset(target: Target, end: Instant) -> String {
    let (mut connections, mut requests) = (0, 0);
    while Instant::now() < end {
        let Ok(mut sender) = target.http2(1 << 20).await else { continue };
        connections += 1;
        while Instant::now() < end && sender.ready().await.is_ok() {
            let begin = |_| {
                let body = Body::from_stream(stream::pending::<io::Result<Bytes>>());
                let answer = sender.send_request(target.post("/validate", body));
                timeout(Duration::from_millis(1), answer)
            };
            requests += join_all((0..50).map(begin)).await.len();
        }
    }
    format!("{requests} requests on {connections} connections")
}
