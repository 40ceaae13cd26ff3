//! The difference between an audit and an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether an earlier audit has found the same.
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    /// The earlier audit has not found it.
    New,
    /// Both have found it.
    Still,
}

/// A finding of an earlier audit, as its JSON has it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Earlier {
    pub(crate) rule: String,
    pub(crate) object: EarlierObject,
    #[serde(default)]
    pub(crate) field: String,
    /// The fault in one short sentence, of a finding about a status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) message: String,
}

/// The object of such a finding.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EarlierObject {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The numbers of findings that are new and that are still there, and the findings that are gone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Changes {
    pub(crate) new: usize,
    pub(crate) still: usize,
    /// `None` if it is not known, because not everything could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<Vec<Earlier>>,
}
