use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Deref};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

use super::lazy_json::LazyJson;

/// Text that borrows from the input unless it contains escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Str<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Str<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}
impl std::borrow::Borrow<str> for Str<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}
impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Labels or annotations, borrowed.
pub type StrMap<'a> = BTreeMap<Str<'a>, Str<'a>>;

/// The metadata that rules use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub struct Metadata<'a> {
    /// The name. The API server treats `None` and empty alike.
    pub name: Option<Str<'a>>,
    /// The prefix of a name that the API server generates.
    pub generate_name: Option<Str<'a>>,
    /// The namespace, if the object sets one.
    pub namespace: Option<Str<'a>>,
    pub labels: Option<StrMap<'a>>,
    pub annotations: Option<StrMap<'a>>,
    pub owner_references: Option<Vec<OwnerReference>>,
    pub finalizers: Option<Vec<Str<'a>>>,
    /// The time of the deletion, set while the object is being deleted.
    pub deletion_timestamp: Option<Str<'a>>,
    /// The grace period of the deletion in seconds, set together with `deletionTimestamp`.
    pub deletion_grace_period_seconds: Option<i64>,
    pub uid: Option<Str<'a>>,
    /// The version of the stored object. The API server sets it after all webhooks, and the uid before them.
    pub resource_version: Option<Str<'a>>,
    /// The number of changes to the spec; absent in a manifest.
    pub generation: Option<i64>,
    /// The fields that each manager owns, often half of the object.
    pub managed_fields: LazyJson<'a>,
}

impl Metadata<'_> {
    /// Returns whether the object comes from a cluster: `false` for a manifest and on CREATE.
    pub fn is_stored(&self) -> bool {
        self.resource_version.as_deref().is_some_and(|version| !version.is_empty())
    }

    /// Returns the name, or the `generateName` prefix.
    pub fn name(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.or(self.generate_name.as_deref()).unwrap_or_default()
    }

    /// Returns the namespace, or `default` if the object sets none, as kubectl does.
    pub fn namespace(&self) -> &str {
        namespace_or_default(self.namespace.as_deref())
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(|value| &**value)
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(|value| &**value)
    }
}

/// Returns the namespace, or `default` if none is given. kubectl creates such an object there.
pub fn namespace_or_default(namespace: Option<&str>) -> &str {
    namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("default")
}
