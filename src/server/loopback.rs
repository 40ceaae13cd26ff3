//! A server that only this machine can reach, with a certificate in memory. Dropping the value stops the server.

use tokio::sync::oneshot;

use super::{
    accept::Acceptor,
    routes,
    tls::{self, Pair, SelfSigner, Source},
};
use crate::server::prelude::*;

/// The name in the certificate.
pub const HOST: &str = "localhost";

/// A running server.
#[derive(Debug)]
pub struct Loopback {
    /// The address that the server listens on.
    pub address: SocketAddr,
    /// The CA that signed the certificate, in PEM.
    pub ca: String,
    _stop: oneshot::Sender<()>,
}

/// Starts a server on a free port of the loopback interface, without a view of a cluster. Fails if no port is free or
/// the certificate cannot be created.
pub async fn start(policy: Policy) -> anyhow::Result<Loopback> {
    let now = SystemTime::now();
    let names = [HOST.to_owned(), "127.0.0.1".to_owned()];
    let day = std::time::Duration::from_secs(24 * 3600);
    let signer = SelfSigner::new(&names, day, now).context("cannot create a certificate")?;
    let app = App::new(policy);
    let (tls, _) = tls::load(Source::new(Pair::Memory(signer.slot())), &app.metrics)?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.context("cannot listen on the loopback interface")?;
    let acceptor = Acceptor::new(listener, tls, routes::router(Arc::clone(&app)), app.clone());
    let address = acceptor.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(acceptor.run(async { stopped.await.unwrap_or_default() }));
    app.set_phase(Phase::Ready);
    Ok(Loopback { address, ca: signer.ca(), _stop: stop })
}
