use crate::observed::prelude::*;

/// A pod with the name of a StatefulSet's pod that does not belong to the set.
#[derive(Clone, Debug)]
pub struct ForeignPod {
    /// The kind and name of its controller.
    pub controller: Option<Box<str>>,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    /// When the pod should be gone, if it is being deleted.
    pub deleted: Option<i64>,
}

impl ForeignPod {
    pub(super) fn read(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata> { metadata, .. } = serde_json::from_str(json)?;
        Ok(ForeignPod {
            controller: metadata.controller().map(|it| format!("{} {}", it.kind, it.name).into()),
            created: metadata.created(),
            deleted: metadata.deleted(),
        })
    }
}
