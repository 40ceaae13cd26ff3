//! StorageClasses.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use crate::{inventory::object_summary::StorageClass, object::storage::DEFAULT_CLASS_ANNOTATIONS};

/// The provisioners of disks that only the nodes of one zone can use.
const ZONAL: [&str; 9] = [
    "cinder.csi.openstack.org",
    "disk.csi.azure.com",
    "diskplugin.csi.alibabacloud.com",
    "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/cinder",
    "kubernetes.io/gce-pd",
    "pd.csi.storage.gke.io",
];

/// The fields of a StorageClass.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    metadata: Annotated,
    #[serde(default)]
    provisioner: String,
    volume_binding_mode: Option<String>,
    parameters: Option<BTreeMap<String, String>>,
    allowed_topologies: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Annotated {
    annotations: Option<BTreeMap<String, String>>,
}

/// Reads a StorageClass.
pub(super) fn read(json: &str) -> Option<StorageClass> {
    let class: Fields = serde_json::from_str(json).ok()?;
    let annotations = class.metadata.annotations.as_ref();
    let is = |name: &&str| {
        let value = annotations.and_then(|it| it.get(*name));
        value.is_some_and(|value| value == "true")
    };
    let is_immediate = class.volume_binding_mode.as_deref().is_none_or(|mode| mode == "Immediate");
    // Disks of several zones: `replication-type: regional-pd`, `skuName: Premium_ZRS`.
    let mut values = class.parameters.iter().flat_map(BTreeMap::values);
    let spans_zones = values.any(|value| value == "regional-pd" || value.ends_with("_ZRS"));
    let is_bounded = class.allowed_topologies.is_some_and(|it| !it.is_empty());
    Some(StorageClass {
        is_default: DEFAULT_CLASS_ANNOTATIONS.iter().any(is),
        chooses_zones: is_immediate
            && ZONAL.contains(&&*class.provisioner)
            && !spans_zones
            && !is_bounded,
    })
}
