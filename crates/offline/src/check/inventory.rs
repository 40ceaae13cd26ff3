//! The objects that the cluster has, as the user tells.

use std::path::PathBuf;

use setguard_core::inventory::object_summary::ObjectSummary;
pub(super) use setguard_files::manifests::{listing, objects::ManifestObject, source::Source};

/// Reads the objects of the cluster. Returns also a message for each document that cannot be read.
pub(super) fn read(paths: &[PathBuf]) -> (Vec<ObjectSummary>, Vec<String>) {
    let (mut items, mut unreadable) = (Vec::new(), Vec::new());
    for source in listing::sources(paths).map(|source| source.and_then(Source::read)) {
        match source {
            Ok(source) => add(&source, &mut items, &mut unreadable),
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    (items, unreadable)
}

/// Adds the objects of a source, and a message for each document that cannot be read.
pub(super) fn add(source: &Source, items: &mut Vec<ObjectSummary>, unreadable: &mut Vec<String>) {
    for document in kube_yaml::documents(source.text()) {
        match document {
            Ok(document) => {
                let objects = ManifestObject::all(document.root).into_iter();
                items.extend(objects.filter_map(|it| ObjectSummary::of_json(&it.node.to_json())));
            }
            Err(problem) => unreadable.push(format!("{}:{problem}", source.name())),
        }
    }
}
