use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::managed::Managed;
use crate::object::namespace_or_default;
use crate::observed::prelude::*;

pub(super) type Name = (Box<str>, Box<str>);

/// `ObjectMeta` without the fields that each client manages: those are most of it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    namespace: Option<Box<str>>,
    name: Option<Box<str>>,
    uid: Option<Box<str>>,
    pub(super) generation: i64,
    pub(super) labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    pub(super) finalizers: Option<Vec<Box<str>>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    pub(super) managed_fields: Option<Vec<Managed>>,
}

pub(super) fn names(json: &str) -> serde_json::Result<(Box<str>, Box<str>)> {
    let Whole::<Metadata> { metadata, .. } = serde_json::from_str(json)?;
    Ok((metadata.namespace().into(), metadata.name().into()))
}

pub(super) fn labels(json: &str) -> serde_json::Result<(Box<str>, BTreeMap<String, String>)> {
    let Whole::<Metadata> { metadata, .. } = serde_json::from_str(json)?;
    Ok((metadata.name().into(), metadata.labels.unwrap_or_default()))
}

/// A reference to a set from an object that it controls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The namespace of both.
    pub namespace: Box<str>,
    /// The kind of the set.
    pub kind: WorkloadKind,
    /// The name of the set.
    pub name: Box<str>,
}

impl Metadata {
    /// Returns `default` if the object sets no namespace.
    pub(super) fn namespace(&self) -> &str {
        namespace_or_default(self.namespace.as_deref())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    /// In seconds since 1970.
    pub(super) fn created(&self) -> i64 {
        self.creation_timestamp.as_ref().map_or(0, |it| it.0.as_second())
    }

    /// Returns when the grace period of a deletion ends, in seconds since 1970.
    pub(super) fn deleted(&self) -> Option<i64> {
        self.deletion_timestamp.as_ref().map(|it| it.0.as_second())
    }

    /// Separated by commas.
    pub(super) fn finalizers(&self) -> Option<Box<str>> {
        let list = self.finalizers.as_ref().filter(|list| !list.is_empty())?;
        Some(list.join(", ").into())
    }

    pub(super) fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
    }

    /// Returns the names and uids of the owners of a kind.
    pub(super) fn owners(
        &self,
        api_version: &str,
        kind: &str,
    ) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.owner_references.iter().flatten();
        let owners = owners.filter(move |it| it.kind == kind && it.api_version == api_version);
        owners.map(|owner| (&*owner.name, &*owner.uid))
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        let owner = self.controller()?;
        let kind = [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet];
        let kind = kind.into_iter().find(|kind| kind.as_str() == owner.kind)?;
        let (namespace, name) = (self.namespace().into(), owner.name.as_str().into());
        (owner.api_version == "apps/v1").then_some(Owner { namespace, kind, name })
    }
}
