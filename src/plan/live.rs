//! The state of a cluster, read with a kubeconfig. Only reads, and only what a plan needs.

use std::collections::BTreeSet;

use anyhow::Context as _;
use hyper::http::Request;
use jiff::Timestamp;
use kube::{Client, Config, config::KubeConfigOptions};
use serde::Deserialize;
use serde_json::Value;

use super::input::Input;
use crate::{kubernetes::resource::Resource, object::namespace_or_default};

/// How many objects are asked for at a time.
const PAGE: usize = 500;

/// Adds the given objects as they are in the cluster, with their pods, claims, revisions, and the nodes.
///
/// # Errors
/// When there is no usable kubeconfig, or the API server does not answer or refuses.
pub(super) fn add(input: &mut Input, context: Option<&str>, now: Timestamp) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let cluster = Cluster { client: client(context).await?, now };
        cluster.add(input).await
    })
}

async fn client(context: Option<&str>) -> anyhow::Result<Client> {
    let config = match context {
        None => Config::infer().await.context("no usable kubeconfig")?,
        Some(name) => {
            let options = KubeConfigOptions {
                context: Some(name.to_owned()),
                ..KubeConfigOptions::default()
            };
            Config::from_kubeconfig(&options).await.context("no usable kubeconfig")?
        }
    };
    Ok(Client::try_from(config)?)
}

struct Cluster {
    client: Client,
    now: Timestamp,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

impl Cluster {
    async fn add(&self, input: &mut Input) -> anyhow::Result<()> {
        let mut namespaces = BTreeSet::new();
        let mut previous = Vec::new();
        for given in &input.given {
            let id = &given.id;
            let namespace = self.namespace(&given.json);
            if let Some(json) = self.object(given.resource, &namespace, &id.name).await? {
                previous.push((id.clone(), given.resource, json));
            }
            namespaces.insert((namespace, id.namespace.clone()));
        }
        for (id, resource, json) in previous {
            let order = input.previous.len();
            input.previous.insert(id, (order, resource, json));
        }
        input.world.know_all();
        for (namespace, known_as) in &namespaces {
            let lists = [
                ("api/v1", "v1", "pods", "Pod"),
                ("api/v1", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
                ("apis/apps/v1", "apps/v1", "controllerrevisions", "ControllerRevision"),
            ];
            for (root, api_version, plural, kind) in lists {
                let path = format!("/{root}/namespaces/{namespace}/{plural}");
                self.list(&path, api_version, kind, Some(known_as), input).await?;
            }
        }
        if input.given.iter().any(|given| given.id.kind == "DaemonSet") {
            self.list("/api/v1/nodes", "v1", "Node", None, input).await?;
        }
        Ok(())
    }

    /// The namespace of a manifest; that of the kubeconfig if it sets none.
    fn namespace(&self, manifest: &str) -> String {
        let object: Value = serde_json::from_str(manifest).unwrap_or_default();
        let namespace = object["metadata"]["namespace"].as_str().filter(|it| !it.is_empty());
        let namespace = namespace.unwrap_or_else(|| self.client.default_namespace());
        namespace_or_default(Some(namespace)).to_owned()
    }

    /// An object as JSON; `None` if it does not exist.
    async fn object(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<String>> {
        let (group, plural) = (resource.api_version(), resource.plural);
        let path = format!("/apis/{group}/namespaces/{namespace}/{plural}/{name}");
        match self.get(&path).await {
            Ok(json) => Ok(Some(json)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error).context(path),
        }
    }

    async fn list(
        &self,
        path: &str,
        api_version: &str,
        kind: &str,
        namespace: Option<&String>,
        input: &mut Input,
    ) -> anyhow::Result<()> {
        let mut next = String::new();
        loop {
            let page = format!("{path}?limit={PAGE}&continue={next}");
            let json = self.get(&page).await.with_context(|| path.to_owned())?;
            let List { metadata, items } = serde_json::from_str(&json)?;
            for mut item in items {
                if let Some(namespace) = namespace {
                    item["metadata"]["namespace"] = Value::String(namespace.clone());
                }
                let read = input.world.add(api_version, kind, &item.to_string(), self.now);
                read.with_context(|| format!("a {kind} cannot be read"))?;
            }
            if metadata.next.is_empty() {
                return Ok(());
            }
            next = metadata.next;
        }
    }

    async fn get(&self, path: &str) -> kube::Result<String> {
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.client.request_text(request).await
    }
}
