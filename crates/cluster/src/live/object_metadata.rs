use crate::prelude::*;

#[derive(Debug, Deserialize)]
pub(crate) struct Bare {
    pub(crate) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}
