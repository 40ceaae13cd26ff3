//! setguard disconnects clients that stop midway, and no others.

use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use setguard::server::{app::App, connections::Connections, routes::router};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::prelude::*;

/// The buffer between the two ends of a connection, in bytes.
const IN_TRANSIT: usize = 1 << 10;

/// A connection to a server and the task that serves it. Without TLS, because a test can stop the clock only for this
/// process.
async fn connect(is_http2: bool) -> (DuplexStream, JoinHandle<()>) {
    let (client, stream) = duplex(IN_TRANSIT);
    let connection = Connections::new(1).open().await;
    let router = router(App::new(Policy::default()));
    let task = tokio::spawn(async move {
        let never = std::future::pending();
        connection.run(connection.serve(stream, is_http2, router, never)).await;
    });
    (client, task)
}

async fn lifetime(task: JoinHandle<()>) -> u64 {
    let start = Instant::now();
    task.await.unwrap();
    start.elapsed().as_secs()
}

fn request() -> String {
    let body = review("mutate/pod-of-daemonset-controller");
    format!(
        "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_begun_must_get_on() {
    let (mut client, task) = connect(false).await;
    client.write_all(b"POST /validate HTTP/1.1\r\nHost:").await.unwrap();
    assert_eq!(lifetime(task).await, 120);
    // A later request must not stop either.
    let (mut client, task) = connect(false).await;
    client.write_all(request().as_bytes()).await.unwrap();
    assert!(client.read(&mut [0; IN_TRANSIT]).await.unwrap() > 0);
    sleep(Duration::from_secs(60)).await;
    client.write_all(b"P").await.unwrap();
    assert_eq!(lifetime(task).await, 60);
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_request_has_a_limit() {
    let (client, _task) = connect(false).await;
    let (mut read, mut write) = tokio::io::split(client);
    let head = format!("POST /validate HTTP/1.1\r\nHost: x\r\nX: {}", "x".repeat(64 << 10));
    tokio::spawn(async move { write.write_all(head.as_bytes()).await });
    let mut start = [0; 12];
    read.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 431");
}

#[tokio::test(start_paused = true)]
async fn a_connection_in_reserve_may_wait_longer_than_the_api_server_keeps_it() {
    let (mut client, task) = connect(false).await;
    sleep(Duration::from_secs(90)).await;
    client.write_all(request().as_bytes()).await.unwrap();
    let mut start = [0; 12];
    client.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    drop(task);
}

#[tokio::test(start_paused = true)]
async fn an_http_2_client_must_begin_as_one() {
    let (mut client, task) = connect(true).await;
    client.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    assert_eq!(lifetime(task).await, 60);
}

#[tokio::test(start_paused = true)]
async fn a_client_must_read_what_it_is_sent() {
    let (mut client, task) = connect(false).await;
    // Ten answers do not fit between the two ends.
    let requests = request().repeat(10);
    let sent = tokio::spawn(async move { (client.write_all(requests.as_bytes()).await, client) });
    assert_eq!(lifetime(task).await, 10);
    assert!(sent.await.unwrap().0.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_http_2_client_must_let_its_answers_be_sent() {
    for window in [0, 1] {
        let (client, task) = connect(true).await;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (mut sender, connection) =
            builder.handshake::<_, Body>(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post("https://x/mutate").header("content-type", "application/json");
        let body = Body::from(review("mutate/pod-of-daemonset-controller"));
        let answer = sender.send_request(request.body(body).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(lifetime(task).await, 10, "a window of {window} bytes");
        drop(answer);
    }
}

#[tokio::test(start_paused = true)]
async fn an_http_2_client_that_reads_is_not_disconnected() {
    let (client, task) = connect(true).await;
    let (mut sender, connection) =
        http2::handshake::<_, _, Body>(TokioExecutor::new(), TokioIo::new(client)).await.unwrap();
    tokio::spawn(connection);
    sleep(Duration::from_secs(300)).await;
    let request = Request::get("https://x/").body(Body::empty()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 404);
    assert!(timeout(Duration::from_secs(300), task).await.is_err());
}
