use serde::Deserialize;

/// An operation that the API server calls webhooks for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object replaces an older one.
    Update,
}

impl Operation {
    /// Returns the name as in an AdmissionReview: `CREATE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
        }
    }
}
