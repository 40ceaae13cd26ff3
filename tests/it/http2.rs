//! An HTTP/2 client.

use std::io;

use hyper::{Request, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::prelude::*;

pub async fn tls(daemon: &Daemon, config: ClientConfig) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(daemon.webhook).await?;
    let name = ServerName::from(daemon.webhook.ip());
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

pub async fn connect(daemon: &Daemon, mut client: Client) -> io::Result<SendRequest<Body>> {
    client.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = tls(daemon, client.config()).await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

pub fn post(daemon: &Daemon, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("https://{}{path}", daemon.webhook))
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}
