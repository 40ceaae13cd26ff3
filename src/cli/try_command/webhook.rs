//! Calls the webhook as an API server does: one connection, HTTP/2 over TLS, with a trusted CA.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    client::conn::http2::{SendRequest, handshake},
    header::CONTENT_TYPE,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use setguard_core::admission::Endpoint;

use super::review::{self, Answer, Asking};
use crate::cli::prelude::*;
use crate::server::{
    https::Client,
    loopback::{HOST, Loopback},
};

#[derive(Debug)]
pub(super) struct Webhook {
    sender: SendRequest<Full<Bytes>>,
    calls: usize,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) endpoint: Endpoint,
    /// The answer, or why an API server would not accept it.
    pub(super) answer: Result<Answer, String>,
}

impl Webhook {
    pub(super) async fn connect(server: &Loopback) -> anyhow::Result<Webhook> {
        let authority = CertificateDer::from_pem_slice(server.ca.as_bytes())?;
        let mut client = Client::trusting([authority], None)?;
        Arc::make_mut(&mut client.config).alpn_protocols = vec![b"h2".to_vec()];
        let stream = client.connect(server.address, ServerName::try_from(HOST)?).await?;
        stream.get_ref().0.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Webhook { sender, calls: 0 })
    }

    pub(super) async fn call(
        &mut self,
        endpoint: Endpoint,
        asking: Asking<'_>,
        object: &Value,
    ) -> anyhow::Result<Call> {
        self.calls += 1;
        let body = review::body(asking, self.calls, object);
        let path = endpoint.path();
        let request = Request::post(format!("https://{HOST}{path}?timeout=10s"))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let response = self.sender.send_request(request).await.with_context(|| path.to_owned())?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let answer = if status == StatusCode::OK {
            Answer::read(&body)
                .map_err(|error| format!("{path} did not return an AdmissionReview: {error}"))
        } else {
            Err(format!("{path} answered {status}: {}", String::from_utf8_lossy(&body).trim_end()))
        };
        Ok(Call { endpoint, answer })
    }
}
