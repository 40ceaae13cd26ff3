//! A pod, as far as injection looks at it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, Toleration};
use serde::Deserialize;

use crate::{
    admission::review::Rejection,
    object::{Metadata, Str, marks::NODE_ANNOTATION},
};

/// A pod, as far as injection looks at it.
#[derive(Debug, Deserialize)]
pub struct Pod<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) metadata: Option<Metadata<'a>>,
    #[serde(default)]
    pub(super) spec: Option<PodSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) affinity: Option<Affinity>,
    pub(super) host_network: Option<bool>,
    pub(super) node_name: Option<String>,
    pub(super) node_selector: Option<BTreeMap<String, String>>,
    pub(super) tolerations: Option<Vec<Toleration>>,
}

impl<'a> Pod<'a> {
    /// Reads a pod.
    ///
    /// # Errors
    /// When the JSON is not a Pod.
    pub fn parse(json: &'a str) -> Result<Self, Rejection> {
        let pod: Pod<'a> = serde_json::from_str(json)?;
        match pod.kind.as_deref() {
            Some("Pod") => Ok(pod),
            kind => Err(Rejection::NotAPod(kind.unwrap_or_default().to_owned())),
        }
    }

    /// Its name, or the prefix of the name that it will get.
    pub fn name(&self) -> &str {
        let metadata = self.metadata.as_ref();
        let name = metadata.and_then(|m| m.name.as_deref()).filter(|name| !name.is_empty());
        name.or(metadata.and_then(|m| m.generate_name.as_deref())).unwrap_or_default()
    }

    pub(super) fn annotated_node(&self) -> Option<&str> {
        self.metadata.as_ref()?.annotation(NODE_ANNOTATION)
    }

    pub(super) fn is_owned_by_daemon_set(&self) -> bool {
        let owners = self.metadata.as_ref().and_then(|m| m.owner_references.as_deref());
        owners.unwrap_or_default().iter().any(|owner| {
            owner.controller == Some(true)
                && owner.kind == "DaemonSet"
                && matches!(owner.api_version.split('/').next(), Some("apps" | "apps.kruise.io"))
        })
    }
}
