use crate::prelude::*;

/// A review as an API server sends it. Fields missing from the request follow from its objects.
pub fn review(request: Value) -> String {
    let Value::Object(request) = request else { panic!("{request}") };
    let object = &request["object"];
    let is_new = request.get("oldObject").is_none_or(Value::is_null);
    let group = if object["kind"] == "Pod" { "" } else { "apps" };
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": if is_new { "CREATE" } else { "UPDATE" },
            "kind": {"group": group, "version": "v1", "kind": object["kind"]},
            "name": object["metadata"]["name"], "namespace": "shop", "userInfo": {},
        },
    });
    review["request"].as_object_mut().unwrap().extend(request);
    review.to_string()
}

pub fn response(request: Value, cx: &Context<'_>) -> Value {
    let answer = admission::answer(Endpoint::Validate, review(request).as_bytes(), cx);
    let mut review: Value = serde_json::from_slice(&answer.unwrap().body).unwrap();
    review["response"].take()
}

pub fn warnings(response: &Value) -> Vec<&str> {
    let warnings = response["warnings"].as_array();
    warnings.into_iter().flatten().map(|warning| warning.as_str().unwrap()).collect()
}
