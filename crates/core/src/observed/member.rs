use super::pod::RawPod;
use crate::observed::prelude::*;

/// A pod and whose it is.
#[derive(Clone, Debug)]
pub struct Member {
    pub namespace: Box<str>,
    pub uid: Box<str>,
    /// The set that controls the pod.
    pub owner: Option<Owner>,
    /// The kind and name of its controller.
    pub controller: Option<Box<str>>,
    /// All labels, if no controller owns the pod and a set may adopt it.
    pub orphan: Option<BTreeMap<String, String>>,
    pub pod: Pod,
}

impl Member {
    /// Reads a pod. Fails if the JSON is not a pod.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        let raw: RawPod = serde_json::from_str(json)?;
        let controller = raw.metadata.controller();
        Ok(Member {
            controller: controller.map(|it| format!("{} {}", it.kind, it.name).into()),
            namespace: raw.metadata.namespace().into(),
            uid: raw.metadata.uid().into(),
            owner: raw.metadata.owner(),
            pod: Pod::of(&raw),
            orphan: match controller {
                Some(_) => None,
                None => Some(raw.metadata.labels.unwrap_or_default()),
            },
        })
    }
}
