//! The policy file as the user writes it, and its JSON Schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{limit::LimitEntry, schema};
use crate::{
    finding::Mode, inject::settings::Settings, kubernetes::pod_security::PodSecurityDefaults,
};

/// `apiVersion` of the policy file.
pub const API_VERSION: &str = "setguard.io/v1alpha1";
/// `kind` of the policy file.
pub const KIND: &str = "Policy";

/// A setguard policy: one file for both `setguard serve` and `setguard check`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyFile {
    /// Always `setguard.io/v1alpha1`.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `Policy`.
    #[schemars(extend("const" = KIND))]
    pub kind: String,
    /// A name for people; setguard does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PolicyMetadata>,
    /// The mode of each rule that should differ from its default: `deny`, `warn`, `audit` or `off`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = schema::rule_ids()))]
    pub rules: BTreeMap<String, Mode>,
    /// Objects that are exempt from some rules.
    #[serde(default)]
    pub exceptions: Vec<ExceptionEntry>,
    /// Limits on the effects of changes.
    #[serde(default)]
    pub limits: Vec<LimitEntry>,
    /// The injections into pods, and the controllers that get them.
    #[serde(default)]
    pub injection: Settings,
    /// The cluster that the objects are meant for.
    #[serde(default)]
    pub kubernetes: Kubernetes,
    /// Files and folders that `setguard check` skips when it reads a folder: patterns like those in
    /// `.gitignore`, relative to the folder of this file. The server ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Folder names below which `setguard check` lowers warnings to notes (`note`), or keeps them
    /// although it lowers them for names such as `test` or `hack` by default (`warn`). Denials
    /// stay. The server ignores them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folder_names: BTreeMap<String, InFolder>,
    /// Files whose objects are applied to the same cluster, so that `setguard check` relates them
    /// to each other. The server ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterFiles>,
    /// Releases of charts that `--render` renders beside the default values. The server ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub render: Vec<ChartRelease>,
}

/// How `setguard check` treats warnings below a folder.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum InFolder {
    /// Warnings become notes.
    Note,
    /// Warnings stay.
    Warn,
}

/// The files of a cluster.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ClusterFiles {
    /// The name of the cluster, unique in this file.
    #[schemars(extend("pattern" = r"\S"))]
    pub name: String,
    /// Patterns like those in `.gitignore`, relative to the folder of this file.
    #[schemars(extend("minItems" = 1))]
    pub paths: Vec<String>,
}

/// The metadata of a policy.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyMetadata {
    /// A name for people.
    #[serde(default)]
    pub name: String,
}

/// A release of a chart.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChartRelease {
    /// The folder of the chart, relative to the folder of this file.
    #[schemars(extend("pattern" = r"\S"))]
    pub chart: String,
    /// Files of values, relative to the folder of this file; the last one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The name of the release. If absent: the name of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The namespace of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Kubernetes release for the chart, such as `1.36`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_version: Option<String>,
    /// API versions that the cluster has, such as `monitoring.coreos.com/v1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_versions: Vec<String>,
}

/// Exempts objects from rules.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExceptionEntry {
    /// Namespaces; `*` stands for any text. If empty: every namespace.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Names of objects; `*` stands for any text. If empty: every name.
    #[serde(default)]
    pub names: Vec<String>,
    /// Files: patterns like those in `.gitignore`, relative to the folder of this file. If empty:
    /// every file. Objects in a cluster have no file, so an exception with files has no effect
    /// there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Ids of rules.
    #[schemars(extend("items" = schema::rule_ids(), "minItems" = 1))]
    pub rules: Vec<String>,
    /// Why the exception exists.
    #[schemars(extend("pattern" = r"\S"))]
    pub reason: String,
    /// The last day on which the exception applies, as YYYY-MM-DD. If absent, it never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::date()))]
    pub expires: Option<String>,
}

/// The cluster that the objects are meant for.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubernetes {
    /// The Kubernetes release, such as `1.36`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::release()))]
    pub version: Option<String>,
    /// Feature gates that differ from the release's defaults.
    #[serde(default)]
    #[schemars(extend("propertyNames" = schema::gates()))]
    pub feature_gates: BTreeMap<String, bool>,
    /// The Pod Security of namespaces without a label, if the API server has a configuration of it.
    #[serde(default)]
    pub pod_security: PodSecurityDefaults,
}

/// Returns the JSON Schema of the policy file.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(PolicyFile).to_value()
}
