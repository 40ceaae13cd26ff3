//! What is injected into pods, and for whom: a part of the policy file.

use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is injected into pods, and for whom.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Injection")]
pub struct Settings {
    /// The users and groups whose pods are injected.
    pub paired_controllers: PairedControllers,
    /// The tolerations that let a daemon run on control-plane nodes.
    pub tolerations: Vec<TolerationEntry>,
    /// Whether to add the tolerations that the built-in DaemonSet controller gives its pods.
    pub daemon_tolerations: bool,
    /// Whether to pin a pod to the node that `setguard.io/node` names.
    pub node_pin: bool,
    /// What to do if any other user sets `setguard.io/node` on a pod: `warn` or `deny`.
    pub unpaired_annotation: UnpairedAnnotation,
}

/// The identities whose pods are injected.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PairedControllers {
    /// User names, as in `userInfo.username`.
    pub users: Vec<String>,
    /// Groups, as in `userInfo.groups`.
    pub groups: Vec<String>,
}

/// A toleration to inject.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TolerationEntry {
    /// The key of the taint.
    pub key: String,
    /// `Exists` (the default) or `Equal`.
    #[serde(default = "exists")]
    pub operator: String,
    /// The value of the taint, with `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`; unset for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

fn exists() -> String {
    "Exists".to_owned()
}

/// What to do if a user that is not paired sets the annotation `setguard.io/node`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnpairedAnnotation {
    /// Only a warning.
    #[default]
    Warn,
    /// The pod is denied.
    Deny,
}

impl Default for PairedControllers {
    fn default() -> Self {
        PairedControllers {
            // The built-in controller uses one of these: see --use-service-account-credentials.
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
