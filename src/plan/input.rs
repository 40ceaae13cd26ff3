//! The objects before and after, and the nodes.

use std::{collections::HashMap, path::PathBuf};

use jiff::Timestamp;

use super::world::World;
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
    /// Pods, claims, revisions and nodes.
    pub(super) world: World,
    /// The namespaces that request the control-plane tolerations.
    pub(super) namespaces: Namespaces,
}

impl Input {
    /// Reads everything. `complain` gets a message for each file and document that cannot be read.
    pub(super) fn read(
        new: &[PathBuf],
        old: &[PathBuf],
        nodes: &[PathBuf],
        now: Timestamp,
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input::default();
        input.world.now = now;
        for source in texts(old, complain) {
            each(&source, complain, &mut |manifest, resource, problems| {
                let order = input.previous.len();
                let old = (order, resource, problems.1);
                input.previous.insert(ObjectId::of(manifest), old);
            });
            see_world(&source, &mut input.world, complain);
        }
        for source in texts(new, complain) {
            input.namespaces.add(source.text());
            each(&source, complain, &mut |manifest, resource, (problems, json)| {
                let id = ObjectId::of(manifest);
                input.given.push(Given { id, resource, json, problems });
            });
        }
        for source in texts(nodes, complain) {
            see_world(&source, &mut input.world, complain);
        }
        if !nodes.is_empty() && input.world.nodes.is_none() {
            complain("--nodes: the input has no Node".to_owned());
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

/// What [`each`] calls.
type See<'a> = dyn FnMut(&Tree<'_>, &'static Resource, (Vec<Problem>, String)) + 'a;

/// Calls `see` with each DaemonSet and StatefulSet of a source, what is wrong with its form, and its
/// JSON.
fn each(source: &Source, complain: &mut dyn FnMut(String), see: &mut See<'_>) {
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

/// Adds the pods, claims, revisions and nodes of a source.
fn see_world(source: &Source, world: &mut World, complain: &mut dyn FnMut(String)) {
    // Documents that cannot be read were reported by `each`.
    for document in yaml::documents(source.text()).flatten() {
        for object in ManifestObject::all(document.root) {
            let (api_version, kind) = (object.api_version(), object.kind());
            let read = world.add(api_version, kind, &object.node.to_json());
            if let Err(error) = read {
                let line = object.node.mark.line;
                complain(format!("{}:{line}: this {kind} cannot be read: {error}", source.name()));
            }
        }
    }
}
