//! An API client, for tests that would need too many kubectl runs.

use http::{Method, Request};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::prelude::*;

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

pub struct Answer {
    pub status: u16,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
    pub object: Value,
}

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

pub async fn of(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a kubeconfig")).expect("a client")
}

/// Sends a dry run that creates a set in a namespace or, after storing an old set, replaces that set. Returns the
/// answer and the stored old set; `None` if the API server refuses the old set.
pub async fn write(
    client: &Client,
    namespace: &str,
    object: &Value,
    old: Option<&Value>,
) -> Option<(Answer, Option<Value>)> {
    let placed = |object: &Value| {
        let mut object = object.clone();
        if object["metadata"].get("namespace").is_some() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let kind = old.unwrap_or(object)["kind"].as_str().unwrap_or("StatefulSet").to_lowercase();
    let all = format!("/apis/apps/v1/namespaces/{namespace}/{kind}s");
    let mut object = placed(object);
    let Some(old) = old else {
        let path = format!("{all}?dryRun=All");
        return Some((send(client, Method::POST, &path, &object, &[]).await, None));
    };
    let mut stored = send(client, Method::POST, &all, &placed(old), &[]).await;
    if stored.status != 201 {
        return None;
    }
    let one = format!("{all}/{}", stored.object["metadata"]["name"].as_str().expect("a name"));
    // The create request for a set has no status.
    if old["status"].is_object() {
        let status = json!({ "status": old["status"] });
        stored = send(client, Method::PATCH, &format!("{one}/status"), &status, &[]).await;
        assert_eq!(stored.status, 200, "{}", stored.object);
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        // The recorded metadata belongs to a different object.
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
    let answer = send(client, Method::PUT, &format!("{one}?dryRun=All"), &object, &[]).await;
    let none = json!({ "metadata": { "finalizers": null }});
    send(client, Method::PATCH, &one, &none, &[]).await;
    let later = json!({ "propagationPolicy": "Background" });
    send(client, Method::DELETE, &one, &later, &[]).await;
    Some((answer, Some(stored.object)))
}
