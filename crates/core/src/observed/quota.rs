use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

use super::meta::{Metadata, Name, Unread};

/// A ResourceQuota.
#[derive(Clone, Debug, Default)]
pub struct Quota {
    /// The limits, by resource.
    pub hard: BTreeMap<Box<str>, Quantity>,
    /// The used amounts, by resource.
    pub used: BTreeMap<Box<str>, Quantity>,
}

#[derive(Deserialize)]
struct RawQuota<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a, Unread>,
    #[serde(borrow, default)]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status<'a> {
    #[serde(borrow)]
    hard: BTreeMap<Cow<'a, str>, Quantity>,
    #[serde(borrow)]
    used: BTreeMap<Cow<'a, str>, Quantity>,
}

impl Quota {
    pub(super) fn read(json: &str) -> serde_json::Result<(Name, Self)> {
        let RawQuota { metadata, status } = serde_json::from_str(json)?;
        let amounts = |map: BTreeMap<Cow<'_, str>, Quantity>| {
            map.into_iter().map(|(name, amount)| (name.as_ref().into(), amount)).collect()
        };
        let quota = Quota { hard: amounts(status.hard), used: amounts(status.used) };
        Ok(((metadata.namespace().into(), metadata.name().into()), quota))
    }
}
