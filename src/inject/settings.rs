//! What is injected into pods, and for whom: a part of the policy file.

use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is injected into pods, and for whom.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Injection")]
pub struct Settings {
    /// Who may have pods injected.
    pub paired_controllers: PairedControllers,
    /// The tolerations that bring a daemon to the control plane.
    pub tolerations: Vec<TolerationEntry>,
    /// Also the tolerations that the built-in DaemonSet controller gives its pods.
    pub daemon_tolerations: bool,
    /// Pin a pod to the node that `setguard.io/node` names.
    pub node_pin: bool,
    /// What becomes of `setguard.io/node` on a pod of anybody else: `warn` or `deny`.
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
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`; none for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

fn exists() -> String {
    "Exists".to_owned()
}

/// What becomes of the annotation `setguard.io/node` from somebody who is not paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnpairedAnnotation {
    /// Nothing but a warning.
    #[default]
    Warn,
    /// The pod is refused.
    Deny,
}

impl Default for PairedControllers {
    fn default() -> Self {
        PairedControllers {
            // The built-in controller runs under either, as --use-service-account-credentials says.
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
