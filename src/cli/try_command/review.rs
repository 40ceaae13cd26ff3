//! The AdmissionReview that an API server sends, and the answer as the API server reads it.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use json_patch::Patch;
use serde::Deserialize;
use serde_json::{Value, json};
use setguard_core::{kubernetes::resource::Resource, object::User};

#[derive(Clone, Copy, Debug)]
pub(super) struct Asking<'a> {
    /// `None` for a Pod.
    pub(super) resource: Option<&'a Resource>,
    pub(super) user: &'a str,
}

/// `number` makes the UID unique in this run.
pub(super) fn body(asking: Asking<'_>, number: usize, object: &Value) -> Vec<u8> {
    let (group, version, kind, plural) = asking.resource.map_or(("", "v1", "Pod", "pods"), |it| {
        (it.group, it.version, it.kind.as_str(), it.plural)
    });
    let metadata = &object["metadata"];
    let gvk = json!({"group": group, "version": version, "kind": kind});
    let gvr = json!({"group": group, "version": version, "resource": plural});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": format!("00000000-0000-4000-8000-{:012}", number),
            "kind": gvk, "resource": gvr, "requestKind": gvk, "requestResource": gvr,
            "name": metadata["name"].as_str().unwrap_or_default(),
            "namespace": metadata["namespace"].as_str().unwrap_or("default"),
            "operation": "CREATE",
            "userInfo": User::authenticated(asking.user),
            "object": object,
            "oldObject": null,
            "dryRun": false,
        },
    });
    review.to_string().into_bytes()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) warnings: Vec<String>,
    status: Status,
    patch: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    message: String,
    details: Details,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
    message: String,
}

impl Answer {
    pub(super) fn read(body: &[u8]) -> serde_json::Result<Answer> {
        #[derive(Deserialize)]
        struct Review {
            response: Answer,
        }
        Ok(serde_json::from_slice::<Review>(body)?.response)
    }

    pub(super) fn causes(&self) -> Vec<String> {
        let causes = self.status.details.causes.iter();
        let causes: Vec<_> =
            causes.map(|Cause { field, message }| format!("{field}: {message}")).collect();
        if causes.is_empty() { vec![self.status.message.clone()] } else { causes }
    }

    /// Returns the number of operations.
    pub(super) fn patch(&self, object: &mut Value) -> anyhow::Result<usize> {
        let Some(patch) = &self.patch else { return Ok(0) };
        let patch: Patch = serde_json::from_slice(&BASE64.decode(patch)?)?;
        json_patch::patch(object, &patch)?;
        Ok(patch.0.len())
    }
}
