use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// An object of any kind, with the parts that its reader needs.
#[derive(Deserialize)]
#[serde(
    bound = "M: DeserializeOwned, S: DeserializeOwned + Default, T: DeserializeOwned + Default"
)]
pub(crate) struct Whole<M, S = IgnoredAny, T = IgnoredAny> {
    pub(crate) metadata: M,
    #[serde(default)]
    pub(crate) spec: S,
    #[serde(default)]
    pub(crate) status: T,
}
