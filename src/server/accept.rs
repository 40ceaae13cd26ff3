//! Accepts connections in a loop of its own: axum's has no limit, and no server on hyper lets the
//! program choose which connection to close.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use futures::FutureExt as _;
use rustls::ServerConfig;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{
    connections::{Connection, Connections},
    metrics::HandshakeFailure,
    tls::{Tls, Trust},
};
use crate::server::prelude::*;

/// An API server keeps up to 25 idle connections to a webhook, and a large control plane has five API servers; the rest
/// is for bursts. The common limit of 1,024 open files leaves room for this many. Beyond the limit, connections without
/// a request give way to new ones.
const MAX_CONNECTIONS: usize = 512;

/// A handshake takes two packets each way.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a failed accept, to give the cause time to clear.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a connection may stay open after its client is no longer trusted: no review takes longer.
const DISTRUSTED_TIMEOUT: Duration = Duration::from_secs(30);

/// The minimum time between warnings about failed handshakes: a client that does not trust the certificate keeps
/// retrying. The others are logged at debug level.
const WARN_SECONDS: u64 = 60;

/// A listener, and everything that its connections need.
pub struct Acceptor {
    listener: TcpListener,
    tls: Arc<Tls>,
    router: Router,
    app: Arc<App>,
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
        Acceptor {
            listener,
            tls,
            router,
            app,
            connections: Connections::new(MAX_CONNECTIONS),
            last_warning: Arc::default(),
            open: Open(watch::Sender::new(())),
        }
    }

    /// Returns the address of the listener, or an error if the system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections until `stop` completes, then closes the port. The returned [`Open`] closes open connections.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Open {
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // The process is out of file descriptors, or the client disconnected while it
                    // was waiting: no reason to stop.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // While all connections are busy, new ones wait in the system's queue.
            tokio::select! {
                biased;
                () = &mut stop => {
                    // Dropping the stream now would reset it.
                    self.spawn(stream, self.connections.open_one_more());
                    break;
                }
                connection = self.connections.open() => self.spawn(stream, connection),
            }
        }
        // Closing the port would reset the connections that are still in the system's queue.
        while let Some(Ok((stream, _))) = self.listener.accept().now_or_never() {
            self.spawn(stream, self.connections.open_one_more());
        }
        self.open
    }

    fn spawn(&self, stream: TcpStream, connection: Connection) {
        // Answers are small and should not be delayed to fill a packet.
        let _ = stream.set_nodelay(true);
        let stop = self.open.0.subscribe();
        let http2 = self.connections.http2();
        let config =
            if http2.is_some() { self.tls.config() } else { without_http2(&self.tls.config()) };
        let (router, trust, app) = (self.router.clone(), self.tls.trust(), self.app.clone());
        let last_warning = self.last_warning.clone();
        let serve = async move |connection: &Connection| {
            match handshake(TlsAcceptor::from(config), stream).await {
                Ok(stream) => {
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let _http2 = http2.filter(|_| is_http2);
                    // hyper would close an HTTP/1.1 connection that has not carried a request. The
                    // first answer will close this connection, and the server waits for that.
                    let is_last = !is_http2 && app.phase() == Phase::Draining;
                    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
                    // The server waits as long as a clone exists.
                    let _open = stop.clone();
                    let close = close(stop, is_last, trust, chain.to_vec());
                    connection.serve(stream, is_http2, router, close).await;
                }
                Err((why, error)) => {
                    app.metrics.handshake_failures.get_or_create(&[("reason", why.as_str())]).inc();
                    log_failure(why, &error, &last_warning);
                }
            }
        };
        tokio::spawn(async move { connection.run(serve(&connection)).await });
    }
}

/// Completes at shutdown, unless `is_last`, or when the client is no longer trusted. Returns how long closing may take.
async fn close(
    mut stop: watch::Receiver<()>,
    is_last: bool,
    trust: Trust,
    chain: Vec<CertificateDer<'static>>,
) -> Option<Duration> {
    tokio::select! {
        // An error means that the sender was dropped: the server ends immediately.
        _ = stop.changed(), if !is_last => None,
        () = trust.lost(&chain) => {
            tracing::info!("a connection closes, since its client is no longer trusted");
            Some(DISTRUSTED_TIMEOUT)
        }
    }
}

fn without_http2(config: &ServerConfig) -> Arc<ServerConfig> {
    let mut config = config.clone();
    config.alpn_protocols.retain(|protocol| protocol != b"h2");
    Arc::new(config)
}

/// The open connections.
#[derive(Debug)]
pub struct Open(watch::Sender<()>);

impl Open {
    /// Closes each connection after its requests in flight are answered, and waits until all are closed.
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use axum::http::Request;
    use http_body_util::Full;
    use rustls::pki_types::{ServerName, pem::PemObject as _};
    use tokio::{sync::oneshot, task::yield_now};
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::server::{
        https, routes,
        tls::{self, Pair, SelfSigner, Source},
    };
    use setguard_core::policy::Policy;

    #[tokio::test]
    async fn a_connection_that_waits_for_room_is_served_before_the_end() {
        let (names, day) = (["127.0.0.1".to_owned()], Duration::from_secs(24 * 3600));
        let signer = SelfSigner::new(&names, day, SystemTime::now()).unwrap();
        let ca = CertificateDer::from_pem_slice(signer.ca().as_bytes()).unwrap();
        let client = https::Client::trusting([ca], None).unwrap();

        let app = App::new(Policy::default());
        let source = Source::new(Pair::Memory(signer.slot()));
        let (tls, _) = tls::load(source, &app.metrics).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut acceptor = Acceptor::new(listener, tls, routes::router(app.clone()), app.clone());
        acceptor.connections = Connections::new(0);
        let address = acceptor.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let accepting = tokio::spawn(acceptor.run(async { stopped.await.unwrap_or_default() }));

        let stream = TcpStream::connect(address).await.unwrap();
        // The runtime looks for new connections only now and then, and has only one thread here.
        for _ in 0..1_000 {
            yield_now().await;
        }
        app.set_phase(Phase::Draining);
        drop(stop);
        let open = accepting.await.unwrap();
        let shutdown = tokio::spawn(open.close());

        let name = ServerName::from(address.ip());
        let stream = TlsConnector::from(client.config).connect(name, stream).await.unwrap();
        let request = Request::get("/").body(Full::default()).unwrap();
        assert_eq!(https::send(stream, request).await.unwrap().status(), 404);
        shutdown.await.unwrap();
    }
}
