use rustls::{pki_types::UnixTime, server::danger::ClientCertVerifier};

use crate::server::prelude::*;

/// `None` if clients need no certificate.
pub(super) type Verifier = Option<Arc<dyn ClientCertVerifier>>;

/// The clients that are trusted, from the time of [`Tls::trust`](super::Tls::trust) on.
#[derive(Debug)]
pub struct Trust(pub(super) watch::Receiver<Verifier>);

impl Trust {
    /// Waits until the client that presented this chain is no longer trusted.
    pub async fn lost(mut self, chain: &[CertificateDer<'static>]) {
        while self.0.changed().await.is_ok() {
            let verifier = self.0.borrow_and_update().clone();
            let trusted = verifier.is_none_or(|verifier| {
                chain.split_first().is_some_and(|(leaf, rest)| {
                    verifier.verify_client_cert(leaf, rest, UnixTime::now()).is_ok()
                })
            });
            if !trusted {
                return;
            }
        }
        // No reload will follow, so the client stays trusted.
        std::future::pending::<()>().await;
    }
}
