//! StorageClasses.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use super::storage::DEFAULT_CLASS_ANNOTATIONS;

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// Whether claims that name no class get this class.
    pub is_default: bool,
    /// Volumes are made in a zone before a node is chosen for the pod.
    pub(crate) chooses_zones: bool,
    /// Whether a volume is chosen only once a pod needs it.
    pub waits_for_pod: bool,
    /// Whether the volumes of this class can be expanded.
    pub allows_expansion: bool,
    /// The provisioner of the volumes.
    pub provisioner: Box<str>,
    /// Whether the volumes of this class are retained when their claims are deleted.
    pub retains_volumes: bool,
}

/// Only the nodes of one zone can use the disks of these provisioners.
const ZONAL: [&str; 9] = [
    "cinder.csi.openstack.org", "disk.csi.azure.com", "diskplugin.csi.alibabacloud.com",
    "ebs.csi.aws.com", "kubernetes.io/aws-ebs", "kubernetes.io/azure-disk", "kubernetes.io/cinder",
    "kubernetes.io/gce-pd", "pd.csi.storage.gke.io",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    metadata: Metadata,
    #[serde(default)]
    provisioner: Box<str>,
    volume_binding_mode: Option<String>,
    parameters: Option<BTreeMap<String, String>>,
    allowed_topologies: Option<Vec<IgnoredAny>>,
    allow_volume_expansion: Option<bool>,
    reclaim_policy: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Box<str>,
    annotations: Option<BTreeMap<String, String>>,
}

impl StorageClass {
    /// Reads a storage class with its name. Fails if the JSON is not one.
    pub fn read(json: &str) -> serde_json::Result<(Box<str>, Self)> {
        let class: Fields = serde_json::from_str(json)?;
        let annotations = class.metadata.annotations.as_ref();
        let is =
            |name: &&str| annotations.and_then(|it| it.get(*name)).is_some_and(|it| it == "true");
        let mode = class.volume_binding_mode.as_deref();
        // Disks of several zones: `replication-type: regional-pd`, `skuName: Premium_ZRS`.
        let mut values = class.parameters.iter().flat_map(BTreeMap::values);
        let spans_zones = values.any(|value| value == "regional-pd" || value.ends_with("_ZRS"));
        let is_bounded = class.allowed_topologies.is_some_and(|it| !it.is_empty());
        let read = StorageClass {
            is_default: DEFAULT_CLASS_ANNOTATIONS.iter().any(is),
            chooses_zones: mode.is_none_or(|mode| mode == "Immediate")
                && ZONAL.contains(&&*class.provisioner)
                && !spans_zones
                && !is_bounded,
            waits_for_pod: mode == Some("WaitForFirstConsumer"),
            allows_expansion: class.allow_volume_expansion == Some(true),
            provisioner: class.provisioner,
            retains_volumes: class.reclaim_policy.as_deref() == Some("Retain"),
        };
        Ok((class.metadata.name, read))
    }
}
