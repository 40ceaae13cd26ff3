//! The state of a cluster, read with a kubeconfig: only the objects that a plan needs, and only with read requests.

use anyhow::Context as _;

use super::input::Input;
use crate::plan::prelude::*;

/// Reads objects from the API server of a cluster.
pub trait Reader {
    /// Returns the namespace of objects that set none.
    fn default_namespace(&self) -> &str;

    /// Returns the release of the API server, and its feature gates if the user may read them. Fails if the API server
    /// does not answer or rejects the request.
    fn release(&self) -> anyhow::Result<(Version, BTreeMap<String, bool>)>;

    /// Returns the object at a path as JSON; `None` if it does not exist. Fails if the API server does not answer or
    /// rejects the request.
    fn get(&self, path: &str) -> anyhow::Result<Option<String>>;

    /// Calls `on_item` with the JSON of each object in the collection at a path, or of each object that a field
    /// selector selects. Returns the reason if the user may not list the collection. Fails if the API server does not
    /// answer.
    fn list(
        &self,
        path: &str,
        fields: Option<&'static str>,
        on_item: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Option<String>>;
}

impl dyn Reader + '_ {
    /// Adds the cluster's state of the objects in the manifests, with their pods, claims and revisions, and the nodes.
    pub(super) fn add_to(&self, input: &mut Input) -> anyhow::Result<()> {
        let mut namespaces = BTreeSet::new();
        let given = input.given.iter().map(|it| (it.id.clone(), it.resource, it.json.clone()));
        let mut wanted: Vec<_> = given.collect();
        // The objects of a release that the new manifests lack.
        for (id, was) in std::mem::take(&mut input.sides.old) {
            let json = was.all.last().filter(|json| !is_kept(json));
            let json = json.filter(|_| input.sides.files_of(&id).next().is_none());
            wanted.extend(json.map(|json| (id, was.resource, json.clone())));
        }
        for (id, resource, json) in wanted {
            let namespace = self.namespace(&json);
            let object = self.object(resource, &namespace, &id.name)?;
            namespaces.insert((namespace, id.namespace.clone()));
            if let Some(json) = object {
                input.sides.set_old(id, resource, json);
            }
        }
        input.world.is_whole = true;
        input.world.seen = input.world.now.as_second();
        for of in &namespaces {
            for (api_version, kind) in
                [("v1", "Pod"), ("v1", "PersistentVolumeClaim"), ("apps/v1", "ControllerRevision")]
            {
                self.list_all(&Listed::new(api_version, kind, Some(of)), input)?;
            }
        }
        for of in &namespaces {
            let budgets = Listed::new("policy/v1", "PodDisruptionBudget", Some(of));
            let lack = "whether the rollout takes more down than they allow to evict";
            self.list_if_allowed(&budgets, lack, input)?;
            for fields in ["reason=FailedCreate", "reason=FailedDelete"] {
                let events = Listed::new("v1", "Event", Some(of));
                let lack = "whether the API server refuses pods";
                let events = Listed { fields: Some(fields), ..events };
                if !self.list_if_allowed(&events, lack, input)? {
                    break;
                }
            }
            self.add_namespace(of, input)?;
        }
        if input.given.iter().any(|given| deletes_claims(&given.json)) {
            let lack = "whether the volumes of deleted claims are retained with their data";
            let of = Listed::new("v1", "PersistentVolume", None);
            self.list_if_allowed(&of, lack, input)?;
        }
        let nodes = Listed::new("v1", "Node", None);
        match input.given.iter().any(|given| given.id.kind == "DaemonSet") {
            true => self.list_all(&nodes, input),
            false => self
                .list_if_allowed(&nodes, "which pods are on nodes that are down", input)
                .map(drop),
        }
    }

    /// Adds a namespace, with the name that the input uses for it. If the user may not read it, adds a note.
    fn add_namespace(
        &self,
        (name, known_as): &(String, String),
        input: &mut Input,
    ) -> anyhow::Result<()> {
        match self.get(&format!("/api/v1/namespaces/{name}")) {
            Ok(None) => {}
            Ok(Some(json)) => {
                let mut namespace: Value = serde_json::from_str(&json)?;
                namespace["metadata"]["name"] = Value::String(known_as.clone());
                input.world.add("v1", "Namespace", &namespace.to_string())?;
            }
            Err(_) => report::note(&format!(
                "namespace {name} may not be read, so it isn't known whether it is being deleted"
            )),
        }
        Ok(())
    }

    fn namespace(&self, manifest: &str) -> String {
        let object: Value = serde_json::from_str(manifest).unwrap_or_default();
        let namespace = object["metadata"]["namespace"].as_str().filter(|it| !it.is_empty());
        let namespace = namespace.unwrap_or_else(|| self.default_namespace());
        namespace_or_default(Some(namespace)).to_owned()
    }

    fn object(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<String>> {
        let (group, plural) = (resource.api_version(), resource.plural);
        let path = format!("/apis/{group}/namespaces/{namespace}/{plural}/{name}");
        self.get(&path).context(path)
    }

    /// Lists optional objects. If the user may not list them, adds a note and returns `false`.
    fn list_if_allowed(
        &self,
        of: &Listed<'_>,
        lack: &str,
        input: &mut Input,
    ) -> anyhow::Result<bool> {
        let is_allowed = self.add_list(of, input)?.is_none();
        if !is_allowed {
            let kind = of.kind;
            report::note(&format!("{kind}s may not be read, so it isn't known {lack}"));
        }
        Ok(is_allowed)
    }

    fn list_all(&self, of: &Listed<'_>, input: &mut Input) -> anyhow::Result<()> {
        match self.add_list(of, input)? {
            None => Ok(()),
            Some(why) => bail!("{}: {why}", of.path),
        }
    }

    /// Returns the reason if the user may not list the objects.
    fn add_list(&self, of: &Listed<'_>, input: &mut Input) -> anyhow::Result<Option<String>> {
        let mut wrong = None;
        let listed = self.list(&of.path, of.fields, &mut |item| {
            let read = of.add(item, input);
            wrong = wrong.take().or(read.err());
        });
        let listed = listed.with_context(|| of.path.clone())?;
        wrong.map_or(Ok(listed), Err).with_context(|| format!("a {} cannot be read", of.kind))
    }
}

struct Listed<'a> {
    path: String,
    api_version: &'a str,
    kind: &'a str,
    fields: Option<&'static str>,
    /// The namespace that the input uses for these manifests.
    known_as: Option<&'a str>,
}

impl<'a> Listed<'a> {
    /// Takes a namespace with the name that the input uses for it; `None` for the whole cluster.
    fn new(api_version: &'a str, kind: &'a str, namespace: Option<&'a (String, String)>) -> Self {
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let inside = namespace.map(|(it, _)| format!("namespaces/{it}/")).unwrap_or_default();
        let path = format!("{root}/{api_version}/{inside}{}s", kind.to_lowercase());
        let known_as = namespace.map(|(_, it)| it.as_str());
        Listed { path, api_version, kind, fields: None, known_as }
    }

    fn add(&self, item: &str, input: &mut Input) -> anyhow::Result<()> {
        let mut item: Value = serde_json::from_str(item)?;
        if let Some(namespace) = self.known_as {
            item["metadata"]["namespace"] = Value::String(namespace.to_owned());
            if self.kind == "Event" {
                item["involvedObject"]["namespace"] = Value::String(namespace.to_owned());
            }
        }
        Ok(input.world.add(self.api_version, self.kind, &item.to_string())?)
    }
}

/// Returns whether Helm keeps an object that a release no longer has.
///
/// Upstream: `filterManifestsToKeep`, pkg/action/resource_policy.go in github.com/helm/helm.
pub(super) fn is_kept(manifest: &str) -> bool {
    let object: Value = serde_json::from_str(manifest).unwrap_or_default();
    let policy = object["metadata"]["annotations"]["helm.sh/resource-policy"].as_str();
    policy.is_some_and(|it| it.trim().eq_ignore_ascii_case("keep"))
}

/// Returns whether a StatefulSet deletes the claims of its pods.
fn deletes_claims(manifest: &str) -> bool {
    let object: Value = serde_json::from_str(manifest).unwrap_or_default();
    let policy = &object["spec"]["persistentVolumeClaimRetentionPolicy"];
    ["whenScaled", "whenDeleted"].iter().any(|when| policy[when] == "Delete")
}
