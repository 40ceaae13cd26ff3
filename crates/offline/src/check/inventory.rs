//! The objects in the cluster, according to the user.

use crate::dump::{is_empty, nothing_in};
use crate::prelude::*;
pub(super) use setguard_files::manifests::{listing, objects::ManifestObject, source::Source};

/// Reads the objects in the cluster. Also returns a message for each unreadable document, and for each file without an
/// object, unless it may be empty.
pub(super) fn read(paths: &[PathBuf], may_be_empty: bool) -> (Vec<ObjectSummary>, Vec<String>) {
    let (mut items, mut unreadable) = (Vec::new(), Vec::new());
    for source in listing::sources(paths).map(|source| source.and_then(Source::read)) {
        match source {
            Ok(source) => {
                if !may_be_empty && source.is_named() && is_empty(&source, true) {
                    unreadable.push(nothing_in(&source));
                }
                add(&source, &mut items, &mut unreadable);
            }
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    (items, unreadable)
}

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
