use serde_json::value::RawValue;

use crate::observed::prelude::*;

/// The label of a pod of a set, and of the revision of a DaemonSet.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";

/// A ControllerRevision.
#[derive(Clone, Debug)]
pub struct Revision {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub uid: Box<str>,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    /// The label value on the pods of a DaemonSet; empty for a StatefulSet.
    pub hash: Box<str>,
    /// A higher number is newer. `None` if only the metadata was read.
    pub number: Option<i64>,
    /// The template as JSON, `{"spec": {"template": …}}`. Known only for the newest revisions of an unhealthy set.
    pub data: Option<Box<str>>,
    /// All labels, if no controller owns the revision and a set may adopt it.
    pub orphan: Option<BTreeMap<String, String>>,
    /// Whether the labels show that the revision belongs to a DaemonSet or StatefulSet.
    pub is_of_set: bool,
}

#[derive(Deserialize)]
struct RawRevision {
    metadata: Metadata,
    revision: Option<i64>,
    data: Option<Box<RawValue>>,
}

impl Revision {
    /// Reads a revision, and the set that controls it. Fails if the JSON is not a revision.
    pub fn read(json: &str) -> serde_json::Result<(Option<Owner>, Self)> {
        let RawRevision { metadata, revision, data } = serde_json::from_str(json)?;
        let hash = metadata.label(HASH_LABEL).unwrap_or_default();
        let mut revision = Revision {
            namespace: metadata.namespace().into(),
            name: metadata.name().into(),
            uid: metadata.uid().into(),
            created: metadata.created(),
            hash: hash.into(),
            number: revision,
            data: data.map(Into::into),
            is_of_set: !hash.is_empty()
                || metadata.label("controller.kubernetes.io/hash").is_some(),
            orphan: None,
        };
        let owner = metadata.owner();
        if metadata.controller().is_none() {
            revision.orphan = Some(metadata.labels.unwrap_or_default());
        }
        Ok((owner, revision))
    }

    /// Returns the label value on the pods: the whole name for StatefulSets, only the hash for DaemonSets.
    pub fn on_pods(&self) -> &str {
        if self.hash.is_empty() { &self.name } else { &self.hash }
    }
}
