//! Late bodies, and their memory.

use axum::http::{Request, header};
use setguard::server::{app::App, body::BodyMemory};
use tokio::task::JoinHandle;

use super::{JSON, app, changed, post, send};
use crate::prelude::*;

fn stalled(uri: &str, arrived: usize, length: usize) -> Request<Body> {
    let arrived = futures::stream::iter([Ok::<_, std::io::Error>(vec![b' '; arrived])]);
    let body = Body::from_stream(futures::StreamExt::chain(arrived, futures::stream::pending()));
    let request = Request::post(uri).header(header::CONTENT_TYPE, JSON);
    request.header(header::CONTENT_LENGTH, length).body(body).unwrap()
}

const LARGEST: usize = 8 << 20;

async fn stall(app: &Arc<App>, count: u32, arrived: usize) -> Vec<JoinHandle<u16>> {
    let requests = (0..count).map(|_| {
        let (app, request) = (app.clone(), stalled("/validate", arrived, LARGEST));
        tokio::spawn(async move { send(&app, request).await.status })
    });
    let requests = requests.collect();
    while app.metrics.in_flight() < i64::from(count) {
        tokio::task::yield_now().await;
    }
    requests
}

#[tokio::test]
async fn the_server_waits_for_a_body_no_longer_than_the_api_server_waits() {
    assert_eq!(send(&app(), stalled("/validate?timeout=10ms", 1, 10)).await.status, 408);
}

#[tokio::test(start_paused = true)]
async fn a_caller_cannot_make_the_server_wait_for_a_body() {
    let start = tokio::time::Instant::now();
    let reply = send(&app(), stalled("/validate?timeout=30s", 1, 10)).await;
    assert_eq!((reply.status, start.elapsed().as_secs()), (408, 10));
}

/// A review above the memory reserved for each body.
fn large() -> String {
    changed(|review| {
        let annotations = &mut review["request"]["object"]["metadata"]["annotations"];
        annotations["example.com/padding"] = json!("x".repeat(200 << 10));
    })
}

#[tokio::test]
async fn bodies_in_memory_have_a_limit_and_others_wait_their_turn() {
    let app = app();
    // Five fill the memory; the sixth may exceed it.
    let stalled = stall(&app, 6, LARGEST - 1).await;
    assert_eq!(post(&app, "/validate?timeout=10ms", large()).await.status, 504);
    // Aborting one makes room.
    let waiting = tokio::spawn({
        let app = app.clone();
        async move { post(&app, "/validate", large()).await.status }
    });
    stalled[0].abort();
    assert_eq!(waiting.await.unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn clients_that_fill_the_memory_keep_others_out_for_a_fifth_of_a_second() {
    let app = app();
    let stalled = stall(&app, 6, LARGEST - 1).await;
    let start = tokio::time::Instant::now();
    assert_eq!(post(&app, "/validate", large()).await.status, 200);
    assert!(start.elapsed().as_millis() <= 220, "{:?}", start.elapsed());
    // One made room; the others may keep theirs.
    assert_eq!(stalled.iter().filter(|request| request.is_finished()).count(), 1);
    for request in stalled {
        assert_eq!(request.await.unwrap(), 408);
    }
    assert_eq!(start.elapsed().as_secs(), 10);
}

/// Issue 29: six of forty got 504, because bodies queued behind bodies that stalled for a second each.
#[tokio::test(start_paused = true)]
async fn a_body_that_arrives_does_not_wait_for_those_that_do_not() {
    let app = app();
    let _stalled = stall(&app, 120, 1500 << 10).await;
    let start = tokio::time::Instant::now();
    let middle = changed(|review| {
        let annotations = &mut review["request"]["object"]["metadata"]["annotations"];
        annotations["example.com/padding"] = json!("x".repeat(14 << 10));
    });
    assert!(middle.len() > 16 << 10);
    for _ in 0..40 {
        assert_eq!(post(&app, "/validate?timeout=5s", middle.clone()).await.status, 200);
        assert_eq!(post(&app, "/validate?timeout=5s", large()).await.status, 200);
    }
    assert!(start.elapsed().as_millis() <= 500, "{:?}", start.elapsed());
}

/// Waiting bodies do not count as stalled.
#[tokio::test(start_paused = true)]
async fn a_burst_of_large_bodies_is_answered_one_after_the_other() {
    let app = app();
    let all = (0..40).map(|_| {
        let app = app.clone();
        let body = format!("{}{}", changed(|_| {}), " ".repeat(LARGEST - (64 << 10)));
        tokio::spawn(async move { post(&app, "/validate", body).await.status })
    });
    for one in all.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_usual_review_does_not_wait_for_the_memory_of_others() {
    let app = app();
    let _stalled = stall(&app, 64, LARGEST - 1).await;
    let start = tokio::time::Instant::now();
    let usual = changed(|_| {});
    assert!(usual.len() < 16 << 10);
    assert_eq!(post(&app, "/validate", usual).await.status, 200);
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn one_connection_does_not_take_the_memory_of_others() {
    let app = app();
    let connection = Arc::new(BodyMemory::of_connection());
    let on_it = |mut request: Request<Body>| {
        request.extensions_mut().insert(connection.clone());
        let app = app.clone();
        tokio::spawn(async move { send(&app, request).await.status })
    };
    for _ in 0..100 {
        on_it(stalled("/validate?timeout=30s", LARGEST - 1, LARGEST));
    }
    while app.metrics.in_flight() < 100 {
        tokio::task::yield_now().await;
    }
    let start = tokio::time::Instant::now();
    assert_eq!(post(&app, "/validate", large()).await.status, 200);
    assert!(start.elapsed().is_zero());
    // Enough for its own wait behind stalled bodies, but short.
    let own = Request::post("/validate?timeout=5s").header(header::CONTENT_TYPE, JSON);
    assert_eq!(on_it(own.body(large().into()).unwrap()).await.unwrap(), 200);
    assert!(start.elapsed().as_millis() <= 220, "{:?}", start.elapsed());
}
