//! The objects of a text that the webhook is registered for.

use crate::{
    kubernetes::resource::Resource,
    manifests::objects::ManifestObject,
    object::schema,
    yaml::{self, Problem},
};

/// What an object is.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A DaemonSet or StatefulSet.
    Set(&'static Resource),
    Pod,
}

/// An object to create.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) what: What,
    pub(super) json: String,
    /// What does not fit the type: kubectl refuses it.
    pub(super) problems: Vec<Problem>,
}

/// The objects of a text.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) given: Vec<Given>,
    /// Documents that cannot be read.
    pub(super) problems: Vec<Problem>,
    /// How many objects are of other kinds.
    pub(super) skipped: usize,
}

/// Reads a text.
pub(super) fn read(text: &str) -> Objects {
    let mut objects = Objects::default();
    for document in yaml::documents(text) {
        let root = match document {
            Ok(document) => document.root,
            Err(problem) => {
                objects.problems.push(problem);
                continue;
            }
        };
        for object in ManifestObject::all(root) {
            let (api_version, kind) = (object.api_version(), object.kind());
            if let Some(resource) = Resource::of(api_version, kind) {
                let reading = schema::read(&object.node, resource);
                let json = reading.json(&object.node);
                let what = What::Set(resource);
                objects.given.push(Given { what, json, problems: reading.problems });
            } else if (api_version, kind) == ("v1", "Pod") {
                let json = object.node.to_json();
                objects.given.push(Given { what: What::Pod, json, problems: Vec::new() });
            } else if !kind.is_empty() {
                objects.skipped += 1;
            }
        }
    }
    objects
}
