use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::observed::prelude::*;

/// A ResourceQuota.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// The limits, by resource.
    pub hard: BTreeMap<Box<str>, Quantity>,
    /// The used amounts, by resource.
    pub used: BTreeMap<Box<str>, Quantity>,
}

impl Quota {
    pub(super) fn read(json: &str) -> serde_json::Result<(Name, Self)> {
        let Whole::<Metadata, IgnoredAny, Quota> { metadata, status, .. } =
            serde_json::from_str(json)?;
        Ok(((metadata.namespace().into(), metadata.name().into()), status))
    }
}
