//! Labels and annotations.

use std::{borrow::Borrow, collections::BTreeMap};

use super::names;
use crate::finding::At;

/// Marks a mirror pod. The kubelet creates one for each pod that it runs from a file.
pub(crate) const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// In bytes, over the keys and values of all annotations.
pub(crate) const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// A map of strings, either owned or borrowed from the JSON.
pub type TextMap<T> = BTreeMap<T, T>;

/// Validates labels. The error points to the map, as the API server's does, not to the key. Kubernetes:
/// `ValidateLabels`, apimachinery `pkg/apis/meta/v1/validation/validation.go`.
pub fn labels<T: Borrow<str>>(labels: Option<&TextMap<T>>, path: &At<'_>) {
    for (key, value) in labels.into_iter().flatten() {
        label_key(key.borrow(), path);
        for message in names::label_value(value.borrow()) {
            path.invalid(value.borrow(), message);
        }
    }
}

/// Validates the key of a label. Kubernetes: `ValidateLabelName`, next to `ValidateLabels`.
pub fn label_key(key: &str, path: &At<'_>) {
    for message in names::label_key(key) {
        path.invalid(key, message);
    }
}

/// Validates annotations. Kubernetes: `ValidateAnnotations`, apimachinery `pkg/api/validation/objectmeta.go`.
pub fn annotations<T: Borrow<str>>(annotations: Option<&TextMap<T>>, path: &At<'_>) {
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        let key: &str = key.borrow();
        size += key.len() + value.borrow().len();
        // Annotation keys follow the rule for label keys, in either case. A valid key needs no lowercase copy.
        if !names::label_key(key).is_empty() {
            for message in names::label_key(&names::lower_case(key)) {
                path.invalid(key, message);
            }
        }
    }
    if size > ANNOTATIONS_LIMIT {
        path.too_long(ANNOTATIONS_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Findings, Path};

    fn map(key: &str, value: &str) -> TextMap<String> {
        BTreeMap::from([(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn annotations_take_keys_in_either_case_and_any_value() {
        let count = |key: &str, value: &str| {
            let mut found = Findings::of(&crate::finding::TEST_RULE);
            annotations(Some(&map(key, value)), &found.at(&Path::new("annotations")));
            found.len()
        };
        assert_eq!(count("Example.COM/Name", "any thing\n"), 0);
        assert_eq!(count("exam_ple.com/name", ""), 1);
        // `\u{212a}` is the Kelvin sign.
        assert_eq!(count("example.com/\u{130}", "") + count("\u{212a}", ""), 0);
        assert_eq!(count("k", &"v".repeat(ANNOTATIONS_LIMIT - 1)), 0);
        assert_eq!(count("k", &"v".repeat(ANNOTATIONS_LIMIT)), 1);
    }
}
