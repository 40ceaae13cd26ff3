use serde::de::DeserializeOwned;

use crate::object::namespace_or_default;
use crate::observed::prelude::*;

pub(super) type Name = (Box<str>, Box<str>);

/// `L` is the type of the labels.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound = "L: DeserializeOwned + Default")]
pub(super) struct Metadata<L = IgnoredAny> {
    namespace: Option<Box<str>>,
    name: Option<Box<str>>,
    uid: Option<Box<str>>,
    pub(super) generation: i64,
    pub(super) labels: Option<L>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<Box<str>>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
}

pub(super) fn names(json: &str) -> serde_json::Result<(Box<str>, Box<str>)> {
    let Whole::<Metadata> { metadata, .. } = serde_json::from_str(json)?;
    Ok((metadata.namespace().into(), metadata.name().into()))
}

pub(super) fn labels(json: &str) -> serde_json::Result<(Box<str>, BTreeMap<String, String>)> {
    let Whole::<Metadata<BTreeMap<_, _>>> { metadata, .. } = serde_json::from_str(json)?;
    Ok((metadata.name().into(), metadata.labels.unwrap_or_default()))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnerReference {
    api_version: Box<str>,
    kind: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    controller: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) type_: Box<str>,
    pub(super) status: Box<str>,
    pub(super) reason: Option<Box<str>>,
    pub(super) message: Option<Box<str>>,
    pub(super) last_transition_time: Option<Time>,
    pub(super) last_heartbeat_time: Option<Time>,
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

impl<L> Metadata<L> {
    /// Returns `default` if the object sets no namespace.
    pub(super) fn namespace(&self) -> &str {
        namespace_or_default(self.namespace.as_deref())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
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

    pub(super) fn is_owned(&self) -> bool {
        self.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
    }

    pub(super) fn controller(&self) -> Option<Box<str>> {
        let mut owners = self.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        Some(format!("{} {}", owner.kind, owner.name).into())
    }

    /// Returns the names and uids of the owners of a kind.
    pub(super) fn owners(
        &self,
        api_version: &str,
        kind: &str,
    ) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.owner_references.iter().flatten();
        let owners = owners.filter(move |it| &*it.kind == kind && &*it.api_version == api_version);
        owners.map(|owner| (&*owner.name, &*owner.uid))
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        let mut owners = self.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        let kind = [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet];
        let kind = kind.into_iter().find(|kind| kind.as_str() == &*owner.kind)?;
        let (namespace, name) = (self.namespace().into(), owner.name.clone());
        (&*owner.api_version == "apps/v1").then_some(Owner { namespace, kind, name })
    }
}
