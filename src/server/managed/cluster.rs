//! Reads and writes the objects in the cluster: a Secret and two webhook configurations.

use std::pin::pin;

use futures::{StreamExt as _, TryStreamExt as _};
use http_body_util::Limited;
use json_patch::{
    AddOperation, Patch as JsonPatch, PatchOperation, TestOperation, jsonptr::PointerBuf,
};
use k8s_openapi::{
    ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    client::Body,
};
use serde::de::DeserializeOwned;
use setguard_cluster::live::reader::configuration;

use super::plan::{Published, View};
use crate::server::prelude::*;
use crate::server::tls::authority::{self, Authority};

/// In `managedFields`.
const MANAGER: &str = "setguard";

const CERTS: &str = "ca.crt";
const KEYS: &str = "ca.key";

const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// In bytes.
const LONGEST_ANSWER: usize = 1 << 20;
/// The API server ends a watch after this time; if it does not, the client does.
const WATCH_SECONDS: u32 = 280;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("{0}: no answer within 10 seconds")]
    Slow(String),
    #[error("{0}: {1}")]
    Failed(String, String),
    #[error("{0}: {1}")]
    Forbidden(String, String),
    #[error(
        "Secret {0} does not exist, and setguard may not create it: let helm upgrade or kubectl \
         apply create it, empty (see docs/operations.md)"
    )]
    NoSecret(String),
    /// The Secret has no CA, although one is published.
    #[error("the CA Secret is lost; waiting for a replica that remembers the CA")]
    Lost,
    /// A different client changed the object first, so the caller must read it and decide again.
    #[error("{0}: changed by another client")]
    Conflict(String),
}

#[derive(Clone)]
pub(crate) struct Cluster {
    client: Client,
    secret: String,
    configurations: String,
    secrets: Api<Secret>,
    /// In the order of [`Configuration::ALL`].
    apis: [Api<DynamicObject>; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The API server's time.
    pub(crate) time: Option<Time>,
    pub(crate) view: View,
    /// The problem with the data in the Secret.
    pub(crate) corrupt: Option<String>,
    /// Whether the Secret exists, whatever its content.
    pub(crate) has_secret: bool,
    secret_version: Option<String>,
    /// In the order of [`Configuration::ALL`].
    bundles: [Option<Bundles>; 2],
}

/// The relevant part of a webhook configuration: the `caBundle` of each webhook.
#[derive(Clone, Debug)]
struct Bundles {
    version: String,
    bundles: Vec<Vec<u8>>,
}

pub(crate) async fn client() -> anyhow::Result<Client> {
    let mut config = configuration(None).await?;
    // By default the client retries for many minutes. By then, earlier reads would be outdated.
    config.default_retry = false;
    config.connect_timeout = Some(CALL_TIMEOUT);
    config.read_timeout = Some(Duration::from_secs(u64::from(WATCH_SECONDS) + 10));
    config.write_timeout = Some(CALL_TIMEOUT);
    Ok(Client::try_from(config)?)
}

pub(crate) fn no_api_server(flag: &str) -> String {
    format!(
        "{flag}: cannot find the API server: neither a kubeconfig nor a service account can be used"
    )
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The API server's time.
    time: Option<Time>,
    pub(crate) warnings: Vec<String>,
    /// The object, or the Status that explains a refusal.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn message(&self) -> String {
        self.body["message"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) async fn send(
    client: &Client,
    what: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Answer, CallError> {
    let content = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, content);
    let request = request
        .body(Body::from(bytes))
        .map_err(|error| CallError::Failed(what.to_owned(), error.to_string()))?;
    let (head, body) = call(what.to_owned(), client.send(request)).await?.into_parts();
    let all = |name| head.headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    let date = all(header::DATE).next().and_then(|it| jiff::fmt::rfc2822::parse(it).ok());
    let body = Limited::new(body, LONGEST_ANSWER).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(Answer {
        status: head.status,
        time: date.map(|date| date.timestamp().as_second()),
        warnings: all(header::WARNING).map(str::to_owned).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

impl Cluster {
    pub(crate) fn new(
        client: &Client,
        namespace: &str,
        secret: &str,
        configurations: &str,
    ) -> Self {
        Cluster {
            client: client.clone(),
            secret: secret.to_owned(),
            configurations: configurations.to_owned(),
            secrets: Api::namespaced(client.clone(), namespace),
            apis: Configuration::ALL.map(|it| it.api(client)),
        }
    }

    /// Reads all objects, the Secret last: a CA is stored before it is published, so the Secret contains every CA that
    /// any replica has published in the configurations that were read.
    pub(crate) async fn read(&self) -> Result<Snapshot, CallError> {
        let mut bundles = [None, None];
        for (api, bundles) in self.apis.iter().zip(&mut bundles) {
            let what = format!("reading webhook configuration {}", self.configurations);
            let read = call(what, api.get_opt(&self.configurations)).await?;
            *bundles = read.as_ref().map(Bundles::of);
        }
        let what = format!("reading Secret {}", self.secret);
        let secret = call(what, self.secrets.get_opt(&self.secret)).await?;
        let published = Configuration::ALL.into_iter().zip(&bundles);
        let published = published.flat_map(|(configuration, read)| {
            read.iter().flat_map(|read| &read.bundles).map(move |bytes| {
                let (certs, clean) = authority::published(bytes);
                Published { configuration, certs, clean }
            })
        });
        let published = published.collect();
        let mut corrupt = None;
        let stored = secret.as_ref().and_then(|secret| {
            let data = secret.data.as_ref().filter(|data| !data.is_empty())?;
            let bytes = |name| data.get(name).map_or(&[][..], |bytes| bytes.0.as_slice());
            let read = authority::read(bytes(CERTS), bytes(KEYS));
            read.map_err(|error| corrupt = Some(error)).ok()
        });
        // Every response has a `Date` header, even an error.
        let version = send(&self.client, "reading the time", Method::GET, "/version", &Value::Null);
        Ok(Snapshot {
            time: version.await?.time,
            view: View { stored, published },
            corrupt,
            has_secret: secret.is_some(),
            secret_version: secret.and_then(|secret| secret.metadata.resource_version),
            bundles,
        })
    }

    /// Writes the Secret, if it has not changed since it was read.
    pub(crate) async fn store(
        &self,
        over: &Snapshot,
        authorities: &[Authority],
    ) -> Result<(), CallError> {
        let what = format!("writing Secret {}", self.secret);
        let bytes = |text: String| ByteString(text.into_bytes());
        let data = BTreeMap::from([
            (CERTS.to_owned(), bytes(authority::bundle(authorities))),
            (KEYS.to_owned(), bytes(authority::keys(authorities))),
        ]);
        if over.has_secret {
            // A merge patch keeps the labels, annotations and other fields that other clients own.
            let version = &over.secret_version;
            let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
            let (params, patch) = (patch_params(), Patch::Merge(patch));
            call(what, self.secrets.patch(&self.secret, &params, &patch)).await?;
        } else {
            let metadata = ObjectMeta { name: Some(self.secret.clone()), ..ObjectMeta::default() };
            let secret = Secret { metadata, data: Some(data), ..Secret::default() };
            let params =
                PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            call(what, self.secrets.create(&params, &secret)).await.map_err(
                |error| match error {
                    CallError::Forbidden(..) => CallError::NoSecret(self.secret.clone()),
                    error => error,
                },
            )?;
        }
        Ok(())
    }

    /// Writes all `caBundle`s of a webhook configuration, if it has not changed since it was read.
    pub(crate) async fn publish(
        &self,
        over: &Snapshot,
        configuration: Configuration,
        bundle: &[Authority],
    ) -> Result<(), CallError> {
        let Some(read) = &over.bundles[configuration as usize] else { return Ok(()) };
        let value = json!(ByteString(authority::bundle(bundle).into_bytes()));
        let values = (0..read.bundles.len()).map(|i| (i, value.clone()));
        let patch = patch_webhooks(json!(read.version), &["clientConfig", "caBundle"], values);
        let (api, name) = (&self.apis[configuration as usize], &self.configurations);
        let what = format!("writing {} {name}", configuration.kind());
        call(what, api.patch(name, &patch_params(), &patch)).await?;
        Ok(())
    }

    /// Never returns.
    pub(crate) async fn watch(self, changed: &Notify) {
        let notify = || changed.notify_one();
        let [validating, mutating] = self.apis;
        tokio::join!(
            watch(self.secrets, &self.secret, |_, _| notify()),
            watch(validating, &self.configurations, |_, _| notify()),
            watch(mutating, &self.configurations, |_, _| notify()),
        );
    }
}

impl Bundles {
    fn of(read: &DynamicObject) -> Self {
        let webhooks = read.data["webhooks"].as_array().into_iter().flatten();
        let bundle = |webhook: &Value| {
            let bundle = webhook["clientConfig"]["caBundle"].clone();
            serde_json::from_value::<ByteString>(bundle).unwrap_or_default().0
        };
        Bundles {
            version: read.metadata.resource_version.clone().unwrap_or_default(),
            bundles: webhooks.map(bundle).collect(),
        }
    }
}

/// Returns a webhook configuration as JSON, if it exists.
pub(crate) async fn read(
    client: &Client,
    configuration: Configuration,
    name: &str,
) -> Result<Option<Value>, CallError> {
    let what = format!("reading {} {name}", configuration.kind());
    let read = call(what, configuration.api(client).get_opt(name)).await?;
    Ok(read.and_then(|read| serde_json::to_value(read).ok()))
}

/// Calls `changed` with each version of one object, and whether it was deleted. After an error, a new watch starts; the
/// next periodic check finds what the old one missed.
pub(crate) async fn watch<K>(api: Api<K>, name: &str, changed: impl Fn(&K, bool))
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let params =
        WatchParams::default().fields(&format!("metadata.name={name}")).timeout(WATCH_SECONDS);
    loop {
        if let Ok(Ok(events)) = timeout(CALL_TIMEOUT, api.watch(&params, "0")).await {
            let mut events = pin!(events.into_stream());
            let longest = Duration::from_secs(u64::from(WATCH_SECONDS) + 10);
            while let Ok(Some(Ok(event))) = timeout(longest, events.next()).await {
                match event {
                    WatchEvent::Added(read) | WatchEvent::Modified(read) => changed(&read, false),
                    WatchEvent::Deleted(read) => changed(&read, true),
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(_) => break,
                }
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// Sets a field of webhooks, each given by its index, if the configuration still has this version.
pub(crate) fn patch_webhooks(
    version: Value,
    field: &[&str],
    values: impl IntoIterator<Item = (usize, Value)>,
) -> Patch<()> {
    let path = PointerBuf::from_tokens(["metadata", "resourceVersion"]);
    let test = PatchOperation::Test(TestOperation { path, value: version });
    let writes = values.into_iter().map(|(i, value)| {
        let i = i.to_string();
        let path = ["webhooks", i.as_str()].into_iter().chain(field.iter().copied());
        // "add" replaces an existing value.
        PatchOperation::Add(AddOperation { path: PointerBuf::from_tokens(path), value })
    });
    Patch::Json(JsonPatch([test].into_iter().chain(writes).collect()))
}

pub(crate) async fn call<T>(
    what: String,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match timeout(CALL_TIMEOUT, call).await {
        Err(_) => Err(CallError::Slow(what)),
        Ok(Ok(answer)) => Ok(answer),
        // 422: the test of the resourceVersion in a JSON patch failed. 404: the object was deleted.
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409 | 422) => {
            Err(CallError::Conflict(what))
        }
        Ok(Err(error)) => {
            let forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
            let why = format!("{:#}", anyhow::Error::from(error));
            let of = if forbidden { CallError::Forbidden } else { CallError::Failed };
            Err(of(what, why))
        }
    }
}

/// Returns the kinds that it deleted.
pub(crate) async fn delete(client: &Client, name: &str) -> Result<Vec<&'static str>, CallError> {
    let mut deleted = Vec::new();
    for configuration in Configuration::ALL {
        let (kind, api) = (configuration.kind(), configuration.api(client));
        let what = format!("deleting {kind} {name}");
        match call(what, api.delete(name, &DeleteParams::default())).await {
            Ok(_) => deleted.push(kind),
            Err(CallError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}
