//! Objects that cost more than others of their size.

use serde_json::{Value, json};

use crate::reviews;

/// A review of a DaemonSet with these elements in the list at this JSON pointer.
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

pub(crate) fn tolerations() -> Vec<u8> {
    let one = |i| json!({ "key": format!("k{i}"), "operator": "Exists" });
    review("/spec/template/spec/tolerations", (0..6_000).map(one).collect())
}

/// Node selector terms with 20,000 values in `In`, and all but one of these in `NotIn`.
pub(crate) fn terms() -> Vec<u8> {
    let values = |from: usize| (from..20_000).map(|i| format!("v{i}")).collect::<Vec<_>>();
    let expression =
        |operator, from| json!({ "key": "k", "operator": operator, "values": values(from) });
    let term = json!([{ "matchExpressions": [expression("In", 0), expression("NotIn", 1)] }]);
    let place = "/spec/template/spec/affinity/nodeAffinity\
                 /requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    review(place, term)
}

/// 900 owners that all claim to be the controller.
pub(crate) fn owners() -> Vec<u8> {
    let one = |i| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": format!("n{i}"),
                "uid": format!("u{i}"), "controller": true })
    };
    review("/metadata/ownerReferences", (0..900).map(one).collect())
}

pub(crate) fn volumes(count: usize) -> Vec<u8> {
    review("/spec/template/spec/volumes", vec![json!({}); count].into())
}
