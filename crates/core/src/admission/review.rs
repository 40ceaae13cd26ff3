//! An incoming AdmissionReview.
//!
//! The envelope borrows from the body; objects stay raw JSON until they are needed. A problem with the *request* is a
//! [`Rejection`] (HTTP 4xx), never a denial.

use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::object::{DecodeError, Str, User};

/// The supported `apiVersion` of a review.
pub const API_VERSION: &str = "admission.k8s.io/v1";
/// The `kind` of a review.
pub const KIND: &str = "AdmissionReview";

/// A malformed request. The webhook's `failurePolicy` decides what happens to it.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// The body is empty.
    #[error("the body is empty: expected an AdmissionReview")]
    Empty,
    /// The body is not JSON of the right shape.
    #[error("the body is not an AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    /// `request` is missing.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// `request.uid` is missing, so the API server could not match the answer with the request.
    #[error("the AdmissionReview has no request.uid")]
    NoUid,
    /// The body is not UTF-8.
    #[error("the body is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    /// The object does not decode as its kind, or has a different kind.
    #[error(transparent)]
    Object(#[from] DecodeError),
    /// A CREATE or UPDATE has no object.
    #[error("a {0} without request.object")]
    NoObject(&'static str),
    /// The version or kind is not supported.
    #[error("expected {API_VERSION} {KIND}, got apiVersion {api_version:?}, kind {kind:?}")]
    Version {
        /// The body's `apiVersion`.
        api_version: String,
        /// The body's `kind`.
        kind: String,
    },
}

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct Gvk<'a> {
    /// The API group; empty for the core group.
    pub group: Str<'a>,
    /// The version within the group.
    pub version: Str<'a>,
    pub kind: Str<'a>,
}

/// A group and a resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct Gvr<'a> {
    /// The API group; empty for the core group.
    pub group: Str<'a>,
    /// The plural name of the resource.
    pub resource: Str<'a>,
}

words! {
    /// The requested operation.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Operation {
        /// Connects to a subresource.
        Connect => "CONNECT",
        /// Creates the object.
        Create => "CREATE",
        /// Deletes the object.
        Delete => "DELETE",
        /// Replaces the old object.
        Update => "UPDATE",
        /// An operation that this version of setguard does not know.
        #[default]
        #[serde(other)]
        Unknown => "UNKNOWN",
    }
}

/// The `request` of an AdmissionReview.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
pub struct Request<'a> {
    /// The id that the answer must repeat.
    pub uid: Str<'a>,
    /// The object's group, version and kind.
    pub kind: Gvk<'a>,
    /// The object's group and resource.
    pub resource: Option<Gvr<'a>>,
    /// The subresource, such as `status` or `scale`; empty for the object itself.
    pub sub_resource: Str<'a>,
    /// The object's name; empty if the API server has yet to generate it.
    pub name: Str<'a>,
    /// The object's namespace.
    pub namespace: Str<'a>,
    pub operation: Operation,
    /// The user who sent the request.
    pub user_info: User<'a>,
    pub object: Option<&'a RawValue>,
    pub old_object: Option<&'a RawValue>,
    /// Whether the request is a dry run, so that nothing is stored.
    pub dry_run: Option<bool>,
    /// The new and the old object after normalization, if they do not decode as they are.
    #[serde(skip)]
    pub normalized: [OnceCell<String>; 2],
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct Envelope<'a> {
    api_version: Str<'a>,
    kind: Str<'a>,
    request: Option<Request<'a>>,
}

impl<'a> Request<'a> {
    /// Reads the request of an AdmissionReview. The objects stay raw. Fails if the body is not an `admission.k8s.io/v1`
    /// AdmissionReview with a request and a uid.
    pub fn parse(body: &'a [u8]) -> Result<Self, Rejection> {
        if body.is_empty() {
            return Err(Rejection::Empty);
        }
        let text = std::str::from_utf8(body).map_err(|e| Rejection::NotUtf8(e.valid_up_to()))?;
        let envelope: Envelope<'a> = serde_json::from_str(text)?;
        if &*envelope.api_version != API_VERSION || &*envelope.kind != KIND {
            return Err(Rejection::Version {
                api_version: envelope.api_version.0.into_owned(),
                kind: envelope.kind.0.into_owned(),
            });
        }
        let request = envelope.request.ok_or(Rejection::NoRequest)?;
        if request.uid.is_empty() {
            return Err(Rejection::NoUid);
        }
        Ok(request)
    }

    /// Returns whether the object is a pod, not a subresource of one.
    pub fn is_pod(&self) -> bool {
        self.kind.group.is_empty() && &*self.kind.kind == "Pod" && self.sub_resource.is_empty()
    }
}
