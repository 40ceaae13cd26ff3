//! The state of a cluster, read with a kubeconfig: only the objects that a plan needs, and only
//! with read requests.

use std::{collections::BTreeSet, io::Write as _};

use anyhow::Context as _;
use serde_json::Value;

use super::input::Input;
use crate::{
    kubernetes::resource::Resource,
    live::{
        call::Problem,
        reader::{List, Reader, THROTTLED},
    },
    object::namespace_or_default,
    report,
};

/// Adds the objects of the manifests as they are in the cluster, with their pods, claims and
/// revisions, and the nodes.
///
/// # Errors
/// Returns an error if there is no usable kubeconfig, or the API server does not answer or refuses.
pub(super) fn add(input: &mut Input, context: Option<&str>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let on_busy = || {
            let _ = writeln!(anstream::stderr(), "note: {THROTTLED}");
        };
        let reader = Reader::connect(context, "plan", on_busy).await?;
        Cluster { reader }.add(input).await
    })
}

struct Cluster {
    reader: Reader,
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
        for (namespace, known_as) in &namespaces {
            let path = format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets");
            let lack = "whether the rollout takes more down than they allow to evict";
            self.list_if_allowed(
                &path,
                ("policy/v1", "PodDisruptionBudget"),
                Some(known_as),
                lack,
                input,
            )
            .await?;
        }
        if input.given.iter().any(|given| deletes_claims(&given.json)) {
            let lack = "whether the volumes of deleted claims are retained with their data";
            let path = "/api/v1/persistentvolumes";
            self.list_if_allowed(path, ("v1", "PersistentVolume"), None, lack, input).await?;
        }
        if input.given.iter().any(|given| given.id.kind == "DaemonSet") {
            self.list("/api/v1/nodes", "v1", "Node", None, input).await?;
        }
        Ok(())
    }

    /// Returns the namespace of a manifest, or the namespace of the kubeconfig if the manifest sets
    /// none.
    fn namespace(&self, manifest: &str) -> String {
        let object: Value = serde_json::from_str(manifest).unwrap_or_default();
        let namespace = object["metadata"]["namespace"].as_str().filter(|it| !it.is_empty());
        let namespace = namespace.unwrap_or_else(|| self.reader.default_namespace());
        namespace_or_default(Some(namespace)).to_owned()
    }

    /// Returns an object as JSON; `None` if it does not exist.
    async fn object(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<String>> {
        let (group, plural) = (resource.api_version(), resource.plural);
        let path = format!("/apis/{group}/namespaces/{namespace}/{plural}/{name}");
        match self.reader.get(&path).await {
            Ok(json) => Ok(Some(json)),
            Err(Problem::Absent(_)) => Ok(None),
            Err(problem) => Err(problem).context(path),
        }
    }

    /// Lists objects without which the plan knows less: if they may not be read, a note says so.
    async fn list_if_allowed(
        &self,
        path: &str,
        (api_version, kind): (&str, &str),
        namespace: Option<&String>,
        lack: &str,
        input: &mut Input,
    ) -> anyhow::Result<()> {
        let listed = self.list(path, api_version, kind, namespace, input).await;
        let Err(error) = listed else { return Ok(()) };
        match error.downcast_ref() {
            Some(Problem::Forbidden(_) | Problem::Absent(_)) => {
                report::note(&format!("{kind}s may not be read, so it isn't known {lack}"));
                Ok(())
            }
            _ => Err(error),
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
        let list = List { path: path.to_owned(), ..List::default() };
        let mut wrong = None;
        let listed = self.reader.list(&list, |items| {
            for item in items {
                let read = add_one(input, api_version, kind, item.get(), namespace);
                wrong = wrong.take().or(read.err());
            }
        });
        listed.await.with_context(|| path.to_owned())?;
        wrong.map_or(Ok(()), Err).with_context(|| format!("a {kind} cannot be read"))
    }
}

/// Returns whether a StatefulSet deletes the claims of its pods.
fn deletes_claims(manifest: &str) -> bool {
    let object: Value = serde_json::from_str(manifest).unwrap_or_default();
    let policy = &object["spec"]["persistentVolumeClaimRetentionPolicy"];
    ["whenScaled", "whenDeleted"].iter().any(|when| policy[when] == "Delete")
}

/// Adds an object of a list that was read from this namespace.
fn add_one(
    input: &mut Input,
    api_version: &str,
    kind: &str,
    item: &str,
    namespace: Option<&String>,
) -> anyhow::Result<()> {
    let mut item: Value = serde_json::from_str(item)?;
    if let Some(namespace) = namespace {
        item["metadata"]["namespace"] = Value::String(namespace.clone());
    }
    Ok(input.world.add(api_version, kind, &item.to_string())?)
}
