use super::{meta, pod::RawPod};
use crate::observed::prelude::*;

/// A pod, with everything that a plan needs to know about it.
#[derive(Clone, Debug)]
pub struct Member {
    pub namespace: Box<str>,
    pub uid: Box<str>,
    /// The set that controls the pod.
    pub owner: Option<Owner>,
    /// All labels, if no controller owns the pod and a set may adopt it.
    pub orphan: Option<BTreeMap<String, String>>,
    pub pod: Pod,
}

impl Member {
    /// Reads a pod. Fails if the JSON is not a pod.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let raw: RawPod = serde_json::from_str(json)?;
        Ok(Member {
            namespace: raw.metadata.namespace().into(),
            uid: raw.metadata.uid().into(),
            owner: raw.metadata.owner(),
            orphan: if raw.metadata.is_owned() { None } else { Some(meta::labels(json)?.1) },
            pod: Pod::of(&raw),
        })
    }
}
