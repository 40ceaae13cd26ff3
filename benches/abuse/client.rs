//! An attacker's connections.

use std::{io, net::SocketAddr, sync::Arc};

use axum::body::Body;
use hyper::{
    Request,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{harness::server::Server, plain};

#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) webhook: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
}

impl Target {
    pub(crate) fn of(server: &Server) -> Self {
        let tls = plain::trust(&server.certificate);
        Target { webhook: server.webhook, admin: server.admin, tls }
    }

    pub(crate) async fn tls(&self, protocol: &str) -> io::Result<TlsStream<TcpStream>> {
        let mut config = self.tls.as_ref().clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.webhook).await?;
        let name = ServerName::from(self.webhook.ip());
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    pub(crate) async fn http1(&self) -> io::Result<http1::SendRequest<Body>> {
        let stream = TokioIo::new(self.tls("http/1.1").await?);
        let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    pub(crate) async fn http2(&self, window: u32) -> io::Result<http2::SendRequest<Body>> {
        let stream = TokioIo::new(self.tls("h2").await?);
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (sender, connection) = builder.handshake(stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    pub(crate) fn post(&self, path: &str, body: impl Into<Body>) -> Request<Body> {
        Request::post(format!("https://{}{path}?timeout=30s", self.webhook))
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .body(body.into())
            .expect("a request")
    }
}
