use serde_json::Value as Json;

use super::*;
use crate::{kubernetes::resource::Resource, rules::api_validation};

fn object() -> Json {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "resourceVersion": "1"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    })
}
fn with(pointer: &str, value: Json) -> Json {
    let mut object = object();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = value;
    object
}
fn validated(new: &Json, old: Option<&Json>, cluster: &Cluster) -> (Vec<String>, usize) {
    let resource = Resource::of("apps/v1", "StatefulSet").unwrap();
    let (new, old) = (new.to_string(), old.map(Json::to_string));
    let object = Object::parse(resource, &new).unwrap();
    let subject = match &old {
        None => Subject::create(object),
        Some(old) => Subject::update(object, old),
    };
    let mut found = Findings::of(API_VALIDATION);
    let tolerated = api_validation::validate(&subject, cluster, &mut found);
    let fields = found.into_vec().iter().map(|finding| finding.field.to_string()).collect();
    (fields, tolerated.len())
}
fn release(version: &str) -> Cluster {
    Cluster::new(version.parse().unwrap(), std::collections::BTreeMap::new())
}

const NO_IMAGE: &str = "/spec/template/spec/containers/0/image";

#[test]
fn a_stored_fault_switches_off_the_rules_for_the_template() {
    let bad = with(NO_IMAGE, json!(""));
    let cluster = release("1.36");
    let refused = vec!["spec.template.spec.containers[0].image".to_owned()];
    assert_eq!(validated(&bad, Some(&object()), &cluster), (refused.clone(), 0));
    for old in [&bad, &with("/spec/minReadySeconds", json!(-1))] {
        assert_eq!(validated(&bad, Some(old), &cluster), (vec![], 1));
        let mut manifest = old.clone();
        manifest["metadata"]["resourceVersion"] = Json::Null;
        assert_eq!(validated(&bad, Some(&manifest), &cluster), (refused.clone(), 0));
    }
}

#[test]
fn what_else_is_wrong_is_refused_although_the_stored_object_has_faults() {
    let old = with(NO_IMAGE, json!(""));
    let mut new = old.clone();
    new["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    new["spec"]["template"]["metadata"]["annotations"] = json!({"bad key": ""});
    new["spec"]["replicas"] = json!(-1);
    let (fields, tolerated) = validated(&new, Some(&old), &release("1.36"));
    let expected =
        ["spec.replicas", "spec.template.annotations", "spec.template.spec.restartPolicy"];
    assert_eq!((fields, tolerated), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn a_stored_max_unavailable_is_validated_although_its_feature_is_off() {
    let strategy = json!({"rollingUpdate": {"maxUnavailable": 0}});
    let new = with("/spec/updateStrategy", strategy);
    let refused = ["spec.updateStrategy.rollingUpdate.maxUnavailable"];
    assert_eq!(validated(&new, Some(&new), &release("1.36")).0, refused);
}

#[test]
fn an_empty_service_name_is_no_change() {
    let new = with("/spec/serviceName", json!(""));
    assert_eq!(validated(&new, Some(&object()), &release("1.36")).0, Vec::<String>::new());
}
