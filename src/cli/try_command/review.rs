//! The AdmissionReview that an API server sends, and the answer as the API server reads it.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use json_patch::Patch;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause};

use crate::cli::prelude::*;
use crate::server::probe::create_review;

#[derive(Clone, Copy, Debug)]
pub(super) struct Asking<'a> {
    /// `None` for a Pod.
    pub(super) resource: Option<&'a Resource>,
    pub(super) user: &'a str,
}

/// `number` makes the UID unique in this run.
pub(super) fn body(asking: Asking<'_>, number: usize, object: &Value) -> Vec<u8> {
    let (uid, user) =
        (format!("00000000-0000-4000-8000-{number:012}"), User::authenticated(asking.user));
    create_review(asking.resource, &uid, &json!(user), object, false).to_string().into_bytes()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) warnings: Vec<String>,
    status: Status,
    patch: Option<String>,
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
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let causes = self.status.details.iter().flat_map(|it| it.causes.iter().flatten());
        let text = |it: &StatusCause| format!("{}: {}", of(&it.field), of(&it.message));
        let causes: Vec<_> = causes.map(text).collect();
        if causes.is_empty() { vec![of(&self.status.message)] } else { causes }
    }

    /// Returns the number of operations.
    pub(super) fn patch(&self, object: &mut Value) -> anyhow::Result<usize> {
        let Some(patch) = &self.patch else { return Ok(0) };
        let patch: Patch = serde_json::from_slice(&BASE64.decode(patch)?)?;
        json_patch::patch(object, &patch)?;
        Ok(patch.0.len())
    }
}
