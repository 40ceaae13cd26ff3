//! The objects before and after, and the nodes.

use std::{collections::HashMap, path::PathBuf};

use k8s_openapi::api::core::v1::Taint;
use serde::Deserialize;

use crate::{
    kubernetes::resource::Resource,
    manifests::{
        document::DocumentObjects,
        id::ObjectId,
        namespaces::Namespaces,
        objects::ManifestObject,
        source::{self, Source},
    },
    object::schema,
    rollout::node::Node,
    yaml::{self, Node as Tree, Problem},
};

/// An object of the new manifests.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) id: ObjectId,
    pub(super) resource: &'static Resource,
    /// Its manifest as JSON, from which the tree can be read again.
    pub(super) json: String,
    /// What is wrong with its form.
    pub(super) problems: Vec<Problem>,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) given: Vec<Given>,
    /// The previous objects as JSON, and the order in which they were read.
    pub(super) previous: HashMap<ObjectId, (usize, &'static Resource, String)>,
    /// Nothing if no nodes were given.
    pub(super) nodes: Option<Vec<Node>>,
    /// The namespaces that request the control-plane tolerations.
    pub(super) namespaces: Namespaces,
}

impl Input {
    /// Reads everything. `complain` gets a message for each file and document that cannot be read.
    pub(super) fn read(
        new: &[PathBuf],
        old: &[PathBuf],
        nodes: &[PathBuf],
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input::default();
        for source in texts(old, complain) {
            each(&source, complain, &mut |manifest, resource, problems| {
                let order = input.previous.len();
                let old = (order, resource, problems.1);
                input.previous.insert(ObjectId::of(manifest), old);
            });
        }
        for source in texts(new, complain) {
            input.namespaces.add(source.text());
            each(&source, complain, &mut |manifest, resource, (problems, json)| {
                let id = ObjectId::of(manifest);
                input.given.push(Given { id, resource, json, problems });
            });
        }
        if !nodes.is_empty() {
            let mut all = Vec::new();
            for source in texts(nodes, complain) {
                read_nodes(&source, &mut all, complain);
            }
            if all.is_empty() {
                complain("--nodes: the input has no Node".to_owned());
            }
            input.nodes = Some(all);
        }
        input
    }
}

fn texts(paths: &[PathBuf], complain: &mut dyn FnMut(String)) -> Vec<Source> {
    let mut texts = Vec::new();
    for source in source::sources(paths) {
        match source.and_then(Source::read) {
            Ok(source) => texts.push(source),
            Err(message) => complain(message),
        }
    }
    texts
}

/// Calls `see` with each DaemonSet and StatefulSet of a source, what is wrong with its form, and its
/// JSON.
fn each(
    source: &Source,
    complain: &mut dyn FnMut(String),
    see: &mut dyn FnMut(&Tree<'_>, &'static Resource, (Vec<Problem>, String)),
) {
    let place =
        |problem: &Problem| format!("{}:{}: {}", source.name(), problem.mark.line, problem.message);
    for document in yaml::documents(source.text()) {
        let document = match document {
            Ok(document) => document,
            Err(problem) => {
                complain(place(&problem));
                continue;
            }
        };
        let objects = DocumentObjects::of(document, source.is_named());
        objects.strays.iter().for_each(|stray| complain(place(stray)));
        for manifest in objects.manifests {
            if let Some(resource) = manifest.resource {
                let reading = schema::read(&manifest.node, resource);
                let json = reading.json(&manifest.node);
                let problems = manifest.problems.into_iter().chain(reading.problems).collect();
                see(&manifest.node, resource, (problems, json));
            }
        }
    }
}

#[derive(Deserialize)]
struct RawNode {
    metadata: RawMeta,
    #[serde(default)]
    spec: RawSpec,
}

#[derive(Deserialize)]
struct RawMeta {
    name: String,
    #[serde(default)]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct RawSpec {
    #[serde(default)]
    taints: Option<Vec<Taint>>,
}

fn read_nodes(source: &Source, nodes: &mut Vec<Node>, complain: &mut dyn FnMut(String)) {
    for document in yaml::documents(source.text()) {
        let root = match document {
            Ok(document) => document.root,
            Err(problem) => {
                complain(format!("{}:{}: {}", source.name(), problem.mark.line, problem.message));
                continue;
            }
        };
        for object in ManifestObject::all(root) {
            if (object.api_version(), object.kind()) != ("v1", "Node") {
                continue;
            }
            match serde_json::from_str::<RawNode>(&object.node.to_json()) {
                Ok(RawNode { metadata, spec }) => nodes.push(Node {
                    name: metadata.name,
                    labels: metadata.labels.unwrap_or_default(),
                    taints: spec.taints.unwrap_or_default(),
                }),
                Err(error) => {
                    let line = object.node.mark.line;
                    complain(format!(
                        "{}:{line}: this Node cannot be read: {error}",
                        source.name()
                    ));
                }
            }
        }
    }
}
