//! A client that sends a request over HTTPS, to this server or to a different setguard.

use axum::http::Response;
use http_body_util::Full;
use rustls::{
    ClientConfig, RootCertStore, crypto::aws_lc_rs, pki_types::UnixTime,
    time_provider::TimeProvider,
};
use tokio::net::ToSocketAddrs;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::server::prelude::*;

/// The timeout for connecting, and again for the request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A fixed time, in case the system clock cannot be trusted.
#[derive(Debug)]
struct At(UnixTime);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

pub(crate) struct Client {
    pub(crate) config: Arc<ClientConfig>,
}

impl Client {
    /// Verifies certificates at the time `now`, in seconds since 1970; by default, at the time of the system clock.
    pub(crate) fn trusting<'a>(
        authorities: impl IntoIterator<Item = CertificateDer<'a>>,
        now: Option<u64>,
    ) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).context("not a CA certificate")?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = match now {
            Some(now) => {
                let at = At(UnixTime::since_unix_epoch(Duration::from_secs(now)));
                ClientConfig::builder_with_details(provider, Arc::new(at))
            }
            None => ClientConfig::builder_with_provider(provider),
        };
        let config = builder.with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Client { config: Arc::new(config) })
    }

    pub(crate) async fn connect(
        &self,
        address: impl ToSocketAddrs,
        name: ServerName<'static>,
    ) -> anyhow::Result<TlsStream<TcpStream>> {
        let connect = async {
            let stream = TcpStream::connect(address).await.context("cannot connect")?;
            let tls = TlsConnector::from(self.config.clone()).connect(name, stream).await;
            tls.context("the TLS handshake failed")
        };
        tokio::time::timeout(TIMEOUT, connect)
            .await
            .map_err(|_| anyhow!("timed out while connecting"))?
    }
}

pub(crate) async fn send(
    stream: TlsStream<TcpStream>,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Response<Bytes>> {
    let exchange = async {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        drop(sender);
        connection.abort();
        Ok(Response::from_parts(head, body))
    };
    tokio::time::timeout(TIMEOUT, exchange).await.map_err(|_| anyhow!("no answer in time"))?
}
