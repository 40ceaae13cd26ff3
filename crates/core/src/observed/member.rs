use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;

use super::{
    meta::{self, Owner},
    pod::{Pod, RawPod},
};

/// A pod, with everything that a plan needs to know about it.
#[derive(Clone, Debug)]
pub struct Member {
    /// The namespace.
    pub namespace: Box<str>,
    /// The uid.
    pub uid: Box<str>,
    /// The set that controls the pod.
    pub owner: Option<Owner>,
    /// All labels, if no controller owns the pod and a set may adopt it.
    pub orphan: Option<BTreeMap<String, String>>,
    /// The names of the volumes and of their claims.
    pub claims: Box<[(Box<str>, Box<str>)]>,
    /// The pod.
    pub pod: Pod,
}

impl Member {
    /// Reads a pod.
    ///
    /// # Errors
    /// Fails if the JSON is not a pod.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let raw: RawPod<'_, Volume<'_>> = serde_json::from_str(json)?;
        let volumes = raw.spec.volumes.iter().flatten();
        let claims = volumes.filter_map(|volume| {
            let claim = volume.persistent_volume_claim.as_ref()?;
            Some(((&*volume.name).into(), (&*claim.claim_name).into()))
        });
        Ok(Member {
            namespace: raw.metadata.namespace().into(),
            uid: raw.metadata.uid().into(),
            owner: raw.metadata.owner(),
            orphan: if raw.metadata.is_owned() { None } else { Some(meta::labels(json)?.1) },
            claims: claims.collect(),
            pod: Pod::of(&raw),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    persistent_volume_claim: Option<ClaimSource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSource<'a> {
    #[serde(borrow, default)]
    claim_name: Cow<'a, str>,
}
