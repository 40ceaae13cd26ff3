//! Accepts connections in a hand-written loop, to control limits, timeouts and failures.

use std::{
    fmt, future,
    future::Future,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{
    app::App,
    connections::{Connection, Connections, Counted},
    metrics::HandshakeFailure,
    tls::{Tls, Trust},
};

/// An API server keeps up to 25 idle connections to a webhook, and a large control plane has five
/// API servers; the rest is for bursts. The number also fits into the common default limit of 1,024
/// open files. Beyond it, connections without a request give way to new ones.
const MAX_CONNECTIONS: usize = 512;

/// The API server's own timeout for a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may wait for the head of its next request. hyper includes the idle time
/// between requests. The API server drops idle connections after 90 s; if setguard closed one
/// first, the API server could be sending a request at that moment, and it does not retry a POST.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
const _: () = assert!(IDLE_TIMEOUT.as_secs() > 90);

/// An HTTP/2 client that does not answer a ping is disconnected.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// As in Go's server. The API server sends all reviews for a loopback URL over one connection.
const MAX_STREAMS: u32 = 250;

/// How many bytes an HTTP/2 client may send before they are read: per request, and in total per
/// connection.
const H2_WINDOW: u32 = 1 << 20;

/// The pause after a failed accept, to give the cause time to clear.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a connection stays open at most after its client is no longer trusted: no review takes
/// longer.
const DISTRUSTED_TIMEOUT: Duration = Duration::from_secs(30);

/// The minimum time between two warnings about failed handshakes; the others are logged at debug
/// level. A client that does not trust the certificate retries again and again.
const WARN_SECONDS: u64 = 60;

/// A listener, and everything that its connections need.
pub struct Acceptor {
    listener: TcpListener,
    tls: Arc<Tls>,
    router: Router,
    app: Arc<App>,
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
    connections: Arc<Connections>,
    last_warning: Arc<AtomicU64>,
    open: Open,
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Serves `router` over HTTPS on a listener.
    pub fn new(listener: TcpListener, tls: Arc<Tls>, router: Router, app: Arc<App>) -> Self {
        // The protocol is known from ALPN. Detecting it by reading would have no timeout.
        let mut http1 = auto::Builder::new(TokioExecutor::new()).http1_only();
        http1.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
        let mut http2 = auto::Builder::new(TokioExecutor::new()).http2_only();
        http2
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(H2_WINDOW)
            .initial_connection_window_size(H2_WINDOW);
        Acceptor {
            listener,
            tls,
            router,
            app,
            http1,
            http2,
            connections: Connections::new(MAX_CONNECTIONS),
            last_warning: Arc::default(),
            open: Open(watch::Sender::new(())),
        }
    }

    /// The address of the listener.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections until `stop` completes, then closes the port. Open connections stay
    /// open; the returned [`Open`] closes them.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Open {
        tokio::pin!(stop);
        loop {
            let next = async {
                let (stream, _) = self.listener.accept().await?;
                // While every connection has a request, further ones wait in the system's queue.
                Ok((stream, self.connections.open().await))
            };
            let next: io::Result<_> = tokio::select! {
                biased;
                () = &mut stop => break,
                next = next => next,
            };
            match next {
                Ok((stream, connection)) => self.spawn(stream, connection),
                Err(error) => {
                    // Out of file descriptors, or the client disconnected while it was waiting:
                    // neither is a reason to stop.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        self.drain_queue().await;
        self.open
    }

    /// Accepts the connections that are still in the system's queue: closing the port would reset
    /// them.
    async fn drain_queue(&self) {
        while let Some(connection) = self.connections.try_open() {
            let ready = future::poll_fn(|cx| match self.listener.poll_accept(cx) {
                Poll::Ready(accepted) => Poll::Ready(accepted.ok()),
                Poll::Pending => Poll::Ready(None),
            });
            let Some((stream, _)) = ready.await else { break };
            self.spawn(stream, connection);
        }
    }

    fn spawn(&self, stream: TcpStream, connection: Connection) {
        // Answers are small and should not be delayed to fill a packet.
        let _ = stream.set_nodelay(true);
        let stop = self.open.0.subscribe();
        let service = connection.count(self.router.clone());
        let trust = self.tls.trust();
        let acceptor = TlsAcceptor::from(self.tls.config());
        let (http1, http2) = (self.http1.clone(), self.http2.clone());
        let app = self.app.clone();
        let last_warning = self.last_warning.clone();
        tokio::spawn(connection.run(async move {
            match handshake(acceptor, stream).await {
                Ok(stream) => {
                    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let builder = if is_h2 { &http2 } else { &http1 };
                    serve(builder, stream, service, trust, stop).await;
                }
                Err((why, error)) => {
                    app.metrics.handshake_failed(why);
                    log_failure(why, &error, &last_warning);
                }
            }
        }));
    }
}

async fn serve(
    builder: &auto::Builder<TokioExecutor>,
    stream: TlsStream<TcpStream>,
    service: Counted,
    trust: Trust,
    mut stop: watch::Receiver<()>,
) {
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // After `graceful_shutdown` the connection closes when its requests in flight are answered.
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        // Also if it fails: then the server ends at once.
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = trust.lost(&chain) => {
            tracing::info!("a connection closes, since its client is no longer trusted");
            connection.as_mut().graceful_shutdown();
            timeout(DISTRUSTED_TIMEOUT, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended with an error");
    }
}

/// The open connections.
#[derive(Debug)]
pub struct Open(watch::Sender<()>);

impl Open {
    /// Closes each connection when its requests in flight are answered, and waits until all are
    /// closed.
    pub async fn close(self) {
        self.0.send_replace(());
        self.0.closed().await;
    }
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, (HandshakeFailure, String)> {
    match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err((classify(&error), error.to_string())),
        Err(_) => Err((HandshakeFailure::Timeout, "the handshake took too long".to_owned())),
    }
}

fn classify(error: &io::Error) -> HandshakeFailure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(_)) => HandshakeFailure::RefusedByClient,
        Some(rustls::Error::NoCertificatesPresented | rustls::Error::InvalidCertificate(_)) => {
            HandshakeFailure::ClientCertificate
        }
        Some(_) => HandshakeFailure::Protocol,
        None => HandshakeFailure::Eof,
    }
}

fn log_failure(why: HandshakeFailure, error: &str, last_warning: &AtomicU64) {
    let reason = why.as_str();
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
    let last = last_warning.load(Relaxed);
    // A load balancer that only checks whether the port is open disconnects without sending data.
    if why == HandshakeFailure::Eof || now.saturating_sub(last) < WARN_SECONDS {
        tracing::debug!(reason, error, "a TLS handshake failed");
        return;
    }
    last_warning.store(now, Relaxed);
    let hint = match why {
        HandshakeFailure::RefusedByClient => {
            "does the caBundle of the webhook configuration match the certificate?"
        }
        HandshakeFailure::ClientCertificate => "does --client-ca contain the CA of the client?",
        HandshakeFailure::Eof | HandshakeFailure::Protocol | HandshakeFailure::Timeout => "",
    };
    tracing::warn!(
        reason,
        error,
        hint,
        "a TLS handshake failed; further failures within a minute are logged at debug level"
    );
}
