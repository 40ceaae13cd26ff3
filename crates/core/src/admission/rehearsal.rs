//! The review that proves that the API server can call setguard.
//!
//! A replica sends a dry-run patch of setguard's own ConfigMap; the chart registers a webhook for it. All releases of
//! Kubernetes send such a request to webhooks. For virtual resources, such as a SelfSubjectReview, that depends on a
//! feature gate (`ExcludeAdmissionWebhookVirtualResources`).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::review::{Operation, Request};
use crate::object::{Metadata, annotations::REHEARSAL_LABEL};

#[derive(Deserialize)]
struct Labelled<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

/// Only a dry-run update of a ConfigMap with setguard's label, sent by a service account of the ConfigMap's namespace,
/// gets this answer, whatever rules are registered.
pub(super) fn is_rehearsal(request: &Request<'_>) -> bool {
    let kind = &request.kind;
    let account = request.user_info.username.strip_prefix("system:serviceaccount:");
    let namespace = account.and_then(|account| account.split_once(':')).map(|(it, _)| it);
    kind.group.is_empty()
        && &*kind.kind == "ConfigMap"
        && request.sub_resource.is_empty()
        && request.operation == Operation::Update
        && request.dry_run == Some(true)
        && namespace == Some(&*request.namespace)
        && request.object.is_some_and(is_labelled)
}

fn is_labelled(object: &RawValue) -> bool {
    let read = serde_json::from_str::<Labelled<'_>>(object.get());
    read.is_ok_and(|it| it.metadata.label(REHEARSAL_LABEL) == Some("true"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn review() -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "1",
                "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
                "namespace": "guards",
                "name": "setguard-rehearsal",
                "operation": "UPDATE",
                "dryRun": true,
                "userInfo": { "username": "system:serviceaccount:guards:setguard" },
                "object": { "metadata": { "labels": { "setguard.io/rehearsal": "true" } } },
            },
        })
    }

    fn is_one(review: &Value) -> bool {
        let body = review.to_string();
        is_rehearsal(&Request::parse(body.as_bytes()).unwrap())
    }

    #[test]
    fn no_request_of_another_user_is_a_rehearsal() {
        assert!(is_one(&review()));
        for (pointer, other) in [
            ("/request/kind/group", json!("apps")),
            ("/request/kind/kind", json!("Secret")),
            ("/request/operation", json!("CREATE")),
            ("/request/dryRun", json!(false)),
            ("/request/dryRun", Value::Null),
            ("/request/namespace", json!("shop")),
            ("/request/userInfo/username", json!("admin")),
            ("/request/userInfo/username", json!("system:serviceaccount:guards")),
            ("/request/object/metadata/labels", json!({ "setguard.io/rehearsal": "no" })),
            ("/request/object/metadata/labels", json!({})),
            ("/request/object", Value::Null),
        ] {
            let mut review = review();
            *review.pointer_mut(pointer).unwrap() = other.clone();
            assert!(!is_one(&review), "{pointer}: {other}");
        }
    }
}
