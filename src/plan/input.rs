//! The objects before and after, and the nodes.

use std::{collections::HashMap, path::PathBuf};

use jiff::Timestamp;

use super::world::World;
use crate::{
    kubernetes::{resource::Resource, version::Version},
    manifests::{
        document::{Decoded, Manifest, documents},
        id::ObjectId,
        namespaces::Namespaces,
        objects::ManifestObject,
        source::{self, Source},
        volumes,
    },
    object::storage::Storage,
    report,
    yaml::{self, Problem},
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
    /// The namespaces that requested them before the change.
    pub(super) old_namespaces: Namespaces,
    /// Claims and volumes of the new manifests.
    pub(super) storage: Storage,
}

impl Input {
    /// Reads everything, the new manifests by the schema of this release. `complain` gets a message for each file and document that cannot be read.
    pub(super) fn read(
        new: &[PathBuf],
        old: &[PathBuf],
        nodes: &[PathBuf],
        release: Version,
        now: Timestamp,
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input::default();
        input.world.now = now;
        for source in texts(old, complain) {
            each(
                &source,
                Version::NEWEST,
                complain,
                &mut |manifest, Decoded { resource, json, .. }| {
                    let old = (input.previous.len(), resource, json);
                    input.previous.insert(ObjectId::of(&manifest.node), old);
                },
            );
            input.old_namespaces.add(source.text());
            see_world(&source, &mut input.world, complain);
        }
        for source in texts(new, complain) {
            input.namespaces.add(source.text());
            volumes::add(&mut input.storage, source.text());
            each(
                &source,
                release,
                complain,
                &mut |manifest, Decoded { resource, json, problems }| {
                    let id = ObjectId::of(&manifest.node);
                    let problems = manifest.problems.into_iter().chain(problems).collect();
                    input.given.push(Given { id, resource, json, problems });
                },
            );
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
    let listing = source::list(paths);
    listing.notes.iter().for_each(|note| report::note(note));
    for source in listing.sources {
        match source.and_then(Source::read) {
            Ok(source) => texts.push(source),
            Err(message) => complain(message),
        }
    }
    texts
}

/// A function that [`each`] calls.
type See<'a> = dyn FnMut(Manifest<'_>, Decoded) + 'a;

/// Calls `see` with each DaemonSet and StatefulSet of a source.
fn each(source: &Source, release: Version, complain: &mut dyn FnMut(String), see: &mut See<'_>) {
    let place =
        |problem: &Problem| format!("{}:{}: {}", source.name(), problem.mark.line, problem.message);
    for objects in documents(source.text(), source.is_named()) {
        let objects = match objects {
            Ok(objects) => objects,
            Err(problem) => {
                complain(place(&problem));
                continue;
            }
        };
        objects.strays.iter().for_each(|stray| complain(place(stray)));
        for manifest in objects.manifests {
            if let Some(decoded) = manifest.decode(release) {
                see(manifest, decoded);
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
