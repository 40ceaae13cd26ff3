//! PersistentVolumeClaims and PersistentVolumes in manifests.

use setguard_core::object::storage::{self, Storage};

use super::objects::{ManifestObject, filled};
use crate::manifests::prelude::*;

/// Adds the claims and volumes of a stream of documents, including those in a List.
pub fn add(storage: &mut Storage, text: &str) {
    if !may_be_in(text) {
        return;
    }
    let documents = kube_yaml::documents(text).flatten();
    for object in documents.flat_map(|document| ManifestObject::all(document.root)) {
        let (metadata, spec) = (object.node.get("metadata"), object.node.get("spec"));
        match (object.api_version(), object.kind()) {
            ("v1", "PersistentVolumeClaim") => {
                let name = filled(metadata, "name").unwrap_or_default();
                if !is_shareable(spec) {
                    storage.add_other_claim(&name);
                    continue;
                }
                storage.add_shareable_claim(filled(metadata, "namespace").as_deref(), &name);
            }
            ("v1", "PersistentVolume") if filled(spec, "storageClassName").is_none() => {
                storage.add_volume_without_class();
            }
            _ => {}
        }
    }
}

/// Returns whether a text may contain claims or volumes. They are rare, and without them no parsing is needed.
pub fn may_be_in(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"PersistentVolume").is_some()
}

/// Returns whether an access mode allows Pods on several nodes.
fn is_shareable(spec: Option<&Node<'_>>) -> bool {
    let mut modes = items(spec.and_then(|it| it.get("accessModes"))).filter_map(Node::as_str);
    modes.any(storage::is_shareable)
}
