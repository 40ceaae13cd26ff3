use super::review::Operation;
use crate::finding::Mode;

/// The HTTP paths that accept a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Mutate,
    /// `/mutate/control-plane`: the namespace requests control-plane tolerations.
    MutateControlPlane,
    Validate,
}

impl Endpoint {
    /// Returns the HTTP path.
    pub const fn path(self) -> &'static str {
        match self {
            Endpoint::Mutate => "/mutate",
            Endpoint::MutateControlPlane => "/mutate/control-plane",
            Endpoint::Validate => "/validate",
        }
    }
}

words! {
    /// What an answer does with the object.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Decision {
        /// Allowed unchanged.
        #[default]
        Allowed => "allowed",
        /// Denied.
        Denied => "denied",
        /// Allowed with a patch.
        Patched => "patched",
    }
}

/// The data about an answer for metrics and logs. It never contains an object.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// `DaemonSet`, `StatefulSet`, `Pod` or `other`: a closed set, because this is a metric label.
    pub kind: &'static str,
    pub operation: Operation,
    /// What the answer does with the object.
    pub decision: Decision,
    /// The rule of each finding, and the mode that applied.
    pub findings: Vec<(&'static str, Mode)>,
    /// The names of the injections.
    pub injected: Vec<&'static str>,
    /// The request's uid.
    pub uid: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name, or its `generateName` prefix.
    pub name: String,
    /// Whether the request is a dry run, so that nothing is stored.
    pub dry_run: bool,
    /// If the answer is only a precaution, the resource version that the view must reach for a certain one.
    pub awaits: Option<u64>,
    /// Whether setguard itself sent the request, to check that the API server calls it.
    pub is_rehearsal: bool,
}

/// An answer and its record.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The AdmissionReview to send back.
    pub body: Vec<u8>,
    /// The record for metrics and logs.
    pub record: Record,
}
