//! Objects that cost more than others of their size.

use serde_json::{Value, json};

use crate::reviews;

/// A review of a DaemonSet in which this list, at a place in the object, has these elements.
fn review(pointer: &str, elements: Value) -> Vec<u8> {
    let small = reviews::daemon_set_update(reviews::SMALL);
    let mut review: Value = serde_json::from_slice(&small).expect("a review");
    let object = &mut review["request"]["object"];
    object["spec"]["template"]["spec"]["tolerations"] = json!([]);
    object["spec"]["template"]["spec"]["affinity"] = json!({ "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [] }
    } });
    object["metadata"]["ownerReferences"] = json!([]);
    *object.pointer_mut(pointer).expect("a list") = elements;
    serde_json::to_vec(&review).expect("JSON")
}

/// 6,000 tolerations, all different.
pub(crate) fn tolerations() -> Vec<u8> {
    let one = |i| json!({ "key": format!("k{i}"), "operator": "Exists" });
    review("/spec/template/spec/tolerations", (0..6_000).map(one).collect())
}

/// Node selector terms in which `In` has 20,000 values, and `NotIn` all of them but one.
pub(crate) fn terms() -> Vec<u8> {
    let values = |from: usize| (from..20_000).map(|i| format!("v{i}")).collect::<Vec<_>>();
    let expression =
        |operator, from| json!({ "key": "k", "operator": operator, "values": values(from) });
    let term = json!([{ "matchExpressions": [expression("In", 0), expression("NotIn", 1)] }]);
    let place = "/spec/template/spec/affinity/nodeAffinity\
                 /requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    review(place, term)
}

/// 900 owners that all say that they are the controller.
pub(crate) fn owners() -> Vec<u8> {
    let one = |i| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": format!("n{i}"),
                "uid": format!("u{i}"), "controller": true })
    };
    review("/metadata/ownerReferences", (0..900).map(one).collect())
}

/// This many empty volumes, of three bytes each.
pub(crate) fn volumes(count: usize) -> Vec<u8> {
    review("/spec/template/spec/volumes", vec![json!({}); count].into())
}
