//! Pods, as far as injection reads them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, Toleration};
use serde::Deserialize;

use crate::object::{DecodeError, Metadata, Str, decode};

/// A pod, reduced to the fields that injection reads.
#[derive(Debug)]
pub struct PartialPod<'a> {
    pub metadata: Metadata<'a>,
    pub(super) spec: PodSpec,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct RawPod<'a> {
    api_version: Option<Str<'a>>,
    kind: Option<Str<'a>>,
    metadata: Option<Metadata<'a>>,
    spec: Option<PodSpec>,
}

impl<'a> PartialPod<'a> {
    /// Reads a pod. Fails if the JSON does not decode or is not a Pod.
    pub fn parse(json: &'a str) -> Result<Self, DecodeError> {
        let pod: RawPod<'a> = decode("Pod", json)?;
        if pod.kind.as_deref() != Some("Pod") {
            return Err(DecodeError::Kind {
                expected: "a Pod".to_owned(),
                api_version: pod.api_version.unwrap_or_default().0.into_owned(),
                kind: pod.kind.unwrap_or_default().0.into_owned(),
            });
        }
        Ok(PartialPod {
            metadata: pod.metadata.unwrap_or_default(),
            spec: pod.spec.unwrap_or_default(),
        })
    }

    /// Returns the pod's name, or its `generateName` prefix.
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    pub(super) fn is_owned_by_daemon_set(&self) -> bool {
        let owners = self.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| {
            owner.controller == Some(true)
                && owner.kind == "DaemonSet"
                && matches!(owner.api_version.split('/').next(), Some("apps" | "apps.kruise.io"))
        })
    }
}
