//! A quick look at an old pod template that finds the usual changes without reading the rest.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::Deserialize;

use super::lazy_json::LazyJson;

/// The parts that nearly every change of a pod template touches.
#[derive(Deserialize)]
struct Template {
    metadata: Option<Metadata>,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    /// `kubectl rollout restart` adds one.
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Spec {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    image: Option<String>,
}

/// Compares images and annotations. `false` means that the templates may differ in the rest.
pub(super) fn differs(old: LazyJson<'_>, new: &PodTemplateSpec) -> bool {
    let Some((old, spec)) = old.read::<Template>().zip(new.spec.as_ref()) else { return false };
    let images = old.spec.containers.iter().map(|it| it.image.as_deref().unwrap_or_default());
    let new_images = spec.containers.iter().map(|it| it.image.as_deref().unwrap_or_default());
    if !images.eq(new_images) {
        return true;
    }
    let annotations = old.metadata.and_then(|it| it.annotations).unwrap_or_default();
    let new_annotations = new.metadata.as_ref().and_then(|it| it.annotations.as_ref());
    !annotations.iter().eq(new_annotations.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn differs_from(old: &Value, new: &Value) -> bool {
        differs(LazyJson::new(&old.to_string()), &serde_json::from_value(new.clone()).unwrap())
    }

    #[test]
    fn a_new_image_or_annotation_differs() {
        let template = |image: &str, annotations: Value| {
            json!({
                "metadata": {"annotations": annotations, "labels": {"app": "db"}},
                "spec": {"containers": [{"name": "db", "image": image}, {"name": "log"}]},
            })
        };
        let old = template("db:1", json!({"a": "1"}));
        assert!(differs_from(&old, &template("db:2", json!({"a": "1"}))));
        assert!(differs_from(&old, &template("db:1", json!({"a": "2"}))));
        assert!(differs_from(&old, &template("db:1", json!(null))));
        assert!(!differs_from(&old, &old));
        let none = template("db:1", json!(null));
        assert!(!differs_from(&none, &template("db:1", json!({}))));
    }

    #[test]
    fn a_template_that_cannot_be_read_says_nothing() {
        let new = json!({"spec": {"containers": [{"name": "db", "image": "db:2"}]}});
        for old in [json!({"spec": {"containers": [{"image": 7}]}}), json!({"spec": null})] {
            assert!(!differs_from(&old, &new), "{old}");
        }
    }
}
