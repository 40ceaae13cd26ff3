//! The settings of injection, a part of the policy file.

use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The injections into pods, and the users and groups that get them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Injection")]
pub struct Settings {
    /// The users and groups whose pods get the injection.
    pub paired_controllers: PairedControllers,
    /// The tolerations that let a daemon pod run on control-plane nodes.
    pub tolerations: Vec<TolerationEntry>,
    /// Whether to add the tolerations that the built-in DaemonSet controller gives its pods.
    pub daemon_tolerations: bool,
    /// Whether to pin a pod to the node that `setguard.io/node` names.
    pub node_pin: bool,
    /// Whether a pod with `setguard.io/node` from any other user gets a warning or is denied:
    /// `warn` or `deny`.
    pub unpaired_annotation: UnpairedAnnotation,
}

/// The users and groups whose pods get the injection.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PairedControllers {
    /// User names, as in `userInfo.username`.
    pub users: Vec<String>,
    /// Groups, as in `userInfo.groups`.
    pub groups: Vec<String>,
}

/// A toleration to inject.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = shapes()))]
pub struct TolerationEntry {
    /// The key of the taint.
    pub key: String,
    /// `Exists` (the default) or `Equal`.
    #[serde(default = "exists")]
    #[schemars(extend("enum" = ["Exists", "Equal"]))]
    pub operator: String,
    /// The value of the taint, for `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If unset: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["NoSchedule", "PreferNoSchedule", "NoExecute", null]))]
    pub effect: Option<String>,
}

/// The combinations of key, operator and value that the API server accepts.
fn shapes() -> Value {
    let name = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
    let dns = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
    let key = json!({"allOf": [
        {"pattern": format!(r"^({dns}(\.{dns})*/)?{name}$")},
        {"pattern": "^([^/]{1,253}/)?[^/]+$"},
    ]});
    let equal = json!({"const": "Equal"});
    let empty = json!({"enum": ["", null]});
    let value = json!({"pattern": format!("^({name})?$")});
    json!([
        {"properties": {"key": key, "operator": {"const": "Exists"}, "value": empty}},
        {"properties": {"key": {"const": ""}, "operator": {"const": "Exists"}, "value": empty}},
        {"properties": {"key": key, "operator": equal, "value": value}, "required": ["operator"]},
    ])
}

fn exists() -> String {
    "Exists".to_owned()
}

/// How setguard reacts to the annotation `setguard.io/node` from a user that is not paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnpairedAnnotation {
    /// Warn only.
    #[default]
    Warn,
    /// Deny the pod.
    Deny,
}

impl Default for PairedControllers {
    fn default() -> Self {
        PairedControllers {
            // The built-in controller is one of these: see --use-service-account-credentials.
            users: vec![
                "system:serviceaccount:kube-system:daemon-set-controller".to_owned(),
                "system:kube-controller-manager".to_owned(),
            ],
            groups: Vec::new(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let control_plane = |key: &str| TolerationEntry {
            key: key.to_owned(),
            operator: exists(),
            value: None,
            effect: Some("NoSchedule".to_owned()),
        };
        Settings {
            paired_controllers: PairedControllers::default(),
            tolerations: vec![
                control_plane("node-role.kubernetes.io/control-plane"),
                control_plane("node-role.kubernetes.io/master"),
            ],
            daemon_tolerations: true,
            node_pin: true,
            unpaired_annotation: UnpairedAnnotation::default(),
        }
    }
}

impl From<&TolerationEntry> for Toleration {
    fn from(entry: &TolerationEntry) -> Self {
        Toleration {
            key: Some(entry.key.clone()),
            operator: Some(entry.operator.clone()),
            value: entry.value.clone(),
            effect: entry.effect.clone(),
            toleration_seconds: None,
        }
    }
}
