//! The same stack as `setguard serve`, answering without reading what was sent.

use std::{fs, io, net::SocketAddr, sync::Arc};

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::post};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const ANSWER: &str = concat!(
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","#,
    r#""response":{"uid":"d1cf81e8-6805-4848-bc91-43c197701fea","allowed":true}}"#
);

/// Serves until it is killed.
pub(crate) fn serve(address: &str, certificate: &str, key: &str) {
    let address: SocketAddr = address.parse().expect("an address");
    let tls = tls(certificate, key).expect("a certificate and its key");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(accept(address, tls)).expect("a listener");
}

fn tls(certificate: &str, key: &str) -> io::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(&fs::read(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(address: SocketAddr, tls: TlsAcceptor) -> io::Result<()> {
    let answer = |_: Bytes| async { ([(CONTENT_TYPE, "application/json")], ANSWER) };
    let router = Router::new().route("/validate", post(answer));
    let listener = TcpListener::bind(address).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let (tls, router) = (tls.clone(), router.clone());
        tokio::spawn(async move {
            socket.set_nodelay(true)?;
            let io = TokioIo::new(tls.accept(socket).await?);
            let service = TowerToHyperService::new(router);
            let builder = auto::Builder::new(TokioExecutor::new());
            builder.serve_connection(io, service).await.map_err(io::Error::other)
        });
    }
}
