//! The difference between an audit and an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether an earlier audit has found the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The earlier audit has not found it.
    New,
    /// Both have found it.
    Still,
}

/// A finding of an earlier audit, as its JSON has it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Earlier {
    /// The id of the rule.
    pub rule: String,
    pub object: EarlierObject,
    /// The path of the field.
    #[serde(default)]
    pub field: String,
    /// The fault in one short sentence, of a finding about a status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) message: String,
}

/// The object of such a finding.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierObject {
    pub(crate) api_version: String,
    pub kind: String,
    /// The namespace; empty for a cluster-scoped object.
    #[serde(default)]
    pub namespace: String,
    pub name: String,
}

/// The numbers of findings that are new and that are still there, and the findings that are gone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Changes {
    /// Findings that the earlier audit did not have.
    pub new: usize,
    /// Findings that both have.
    pub still: usize,
    /// `None` if it is not known, because not everything could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Vec<Earlier>>,
}
