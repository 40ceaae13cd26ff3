//! A third-party mutating webhook: it adds a sidecar to pods, and replaces their affinity.

use std::io::{BufReader, Result};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

use crate::http::{self, Request};
use crate::prelude::*;

/// Serves until the tests end.
#[derive(Debug)]
pub struct Sidecar {
    pub url: String,
    /// PEM.
    pub certificate: String,
}

impl Sidecar {
    pub fn start() -> Self {
        let pair =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![pair.cert.der().clone()], key)
            });
        let config = Arc::new(config.expect("a TLS configuration"));
        let address = http::listen(move |connection| serve(connection, Arc::clone(&config)));
        let url = format!("https://{address}/mutate");
        Sidecar { url, certificate: pair.cert.pem() }
    }
}

fn serve(connection: TcpStream, config: Arc<ServerConfig>) -> Result<()> {
    let tls = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(tls, connection));
    while let Some(request) = Request::read(&mut stream)? {
        let answer = answer(&serde_json::from_slice(&request.body)?).to_string();
        http::answer(stream.get_mut(), "200 OK", "", answer)?;
    }
    Ok(())
}

/// Adds a sidecar to a pod without one, and replaces any affinity.
fn answer(review: &Value) -> Value {
    let request = &review["request"];
    let mut response = json!({ "uid": request["uid"], "allowed": true });
    let containers = request["object"]["spec"]["containers"].as_array();
    if containers.is_some_and(|list| list.iter().all(|container| container["name"] != "sidecar")) {
        let terms = json!([{ "matchExpressions": [
            { "key": "kubernetes.io/os", "operator": "In", "values": ["linux"] },
        ]}]);
        let affinity = json!({ "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms },
        }});
        let patch = json!([
            { "op": "add", "path": "/spec/containers/-",
              "value": { "name": "sidecar", "image": "registry.example/sidecar:1" } },
            { "op": "add", "path": "/spec/affinity", "value": affinity },
        ]);
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(BASE64.encode(patch.to_string()));
    }
    json!({ "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response })
}
