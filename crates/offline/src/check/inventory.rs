//! The objects that the cluster has, as the user tells.

use std::path::PathBuf;

use setguard_core::inventory::object_summary::ObjectSummary;
pub(super) use setguard_files::manifests::{listing, objects::ManifestObject, source::Source};

/// Reads the objects of the cluster. Calls `complain` for documents that cannot be read.
pub(super) fn read(paths: &[PathBuf], complain: &mut dyn FnMut(String)) -> Vec<ObjectSummary> {
    let mut items = Vec::new();
    for source in listing::sources(paths).map(|source| source.and_then(Source::read)) {
        let source = match source {
            Ok(source) => source,
            Err(message) => {
                complain(message);
                continue;
            }
        };
        add(&source, &mut items, complain);
    }
    items
}

/// Adds the objects of a source. Calls `complain` for documents that cannot be read.
pub(super) fn add(
    source: &Source,
    items: &mut Vec<ObjectSummary>,
    complain: &mut dyn FnMut(String),
) {
    for document in kube_yaml::documents(source.text()) {
        match document {
            Ok(document) => {
                let objects = ManifestObject::all(document.root).into_iter();
                items.extend(objects.filter_map(|it| ObjectSummary::of_json(&it.node.to_json())));
            }
            Err(problem) => complain(format!("{}:{problem}", source.name())),
        }
    }
}
