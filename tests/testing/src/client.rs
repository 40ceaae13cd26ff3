//! A client of the API server, for tests that would need too many runs of kubectl.

use std::path::Path;

use http::{Method, Request};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;

/// Runs a future on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// The API server's answer to a request.
pub struct Answer {
    pub status: u16,
    /// The texts of its headers `Warning`.
    pub warnings: Vec<String>,
    pub object: Value,
}

/// Sends JSON to a path of the API server, with these additional headers.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    object: &Value,
    headers: &[(&str, &str)],
) -> Answer {
    let is_patch = method == Method::PATCH;
    let media = if is_patch { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("Content-Type", media);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Body::from(object.to_string().into_bytes())).expect("a request");
    let response =
        client.send(request).await.unwrap_or_else(|e| panic!("{e}: {path} {object:.300}"));
    let warnings = response.headers().get_all("Warning").iter();
    let warnings = warnings.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()).collect();
    let status = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.expect("a body");
    Answer { status, warnings, object: serde_json::from_slice(&body).expect("JSON") }
}

/// A client with the identity in this kubeconfig.
pub async fn of(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a kubeconfig")).expect("a client")
}
