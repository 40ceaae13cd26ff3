//! The parts of any object's metadata that are read.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use crate::{kubernetes::resource::WorkloadKind, object::namespace_or_default};

/// A namespace and a name.
pub(super) type Name = (Box<str>, Box<str>);

/// The metadata of an object, with labels of this type.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "L: Deserialize<'de> + Default"))]
pub(super) struct Metadata<'a, L> {
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    pub(super) generation: i64,
    pub(super) labels: Option<L>,
    #[serde(borrow)]
    owner_references: Option<Vec<OwnerReference<'a>>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Cow<'a, str>>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
}

/// An object of which only the metadata is read.
#[derive(Deserialize)]
#[serde(bound(deserialize = "L: Deserialize<'de> + Default"))]
struct Bare<'a, L> {
    #[serde(borrow)]
    metadata: Metadata<'a, L>,
}

/// Returns the namespace and the name of any object.
pub(super) fn names(json: &str) -> serde_json::Result<(Box<str>, Box<str>)> {
    let Bare::<'_, Unread> { metadata } = serde_json::from_str(json)?;
    Ok((metadata.namespace().into(), metadata.name().into()))
}

/// Returns the name and the labels of any object.
pub(super) fn labels(json: &str) -> serde_json::Result<(Box<str>, BTreeMap<String, String>)> {
    let Bare::<'_, BTreeMap<String, String>> { mut metadata } = serde_json::from_str(json)?;
    let labels = metadata.labels.take().unwrap_or_default();
    Ok((metadata.name().into(), labels))
}

/// A placeholder for labels, or for any other object, that ignores the content.
#[derive(Default, Deserialize)]
pub(super) struct Unread {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerReference<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
}

/// A condition in the status of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) type_: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) message: Option<Cow<'a, str>>,
    pub(super) last_transition_time: Option<Time>,
}

/// A reference to a set, as the objects that it controls name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The namespace of both.
    pub namespace: Box<str>,
    /// The kind of the set.
    pub kind: WorkloadKind,
    /// The name of the set.
    pub name: Box<str>,
}

impl<L> Metadata<'_, L> {
    /// Returns the namespace; `default` if the object does not set it.
    pub(super) fn namespace(&self) -> &str {
        namespace_or_default(self.namespace.as_deref())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    /// Returns the time of creation, in seconds since 1970.
    pub(super) fn created(&self) -> i64 {
        self.creation_timestamp.as_ref().map_or(0, |it| it.0.as_second())
    }

    /// Returns the time by which the object should be gone, if it is being deleted: the end of its
    /// grace period, in seconds since 1970.
    pub(super) fn deleted(&self) -> Option<i64> {
        self.deletion_timestamp.as_ref().map(|it| it.0.as_second())
    }

    /// Returns the finalizers, separated by commas.
    pub(super) fn finalizers(&self) -> Option<Box<str>> {
        let list = self.finalizers.as_ref().filter(|list| !list.is_empty())?;
        Some(list.join(", ").into())
    }

    /// Returns whether any controller owns the object.
    pub(super) fn is_owned(&self) -> bool {
        self.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
    }

    /// Returns kind and name of the controller of the object, if it has one.
    pub(super) fn controller(&self) -> Option<Box<str>> {
        let mut owners = self.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        Some(format!("{} {}", owner.kind, owner.name).into())
    }

    /// Returns the names and uids of the pods that own the object.
    pub(super) fn owner_pods(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.owner_references.iter().flatten();
        let pods = owners.filter(|owner| owner.kind == "Pod" && owner.api_version == "v1");
        pods.map(|owner| (&*owner.name, &*owner.uid))
    }

    /// Returns the set that controls the object, if one does.
    pub(super) fn owner(&self) -> Option<Owner> {
        let mut owners = self.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        let kind = [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet];
        let kind = kind.into_iter().find(|kind| kind.as_str() == owner.kind)?;
        let (namespace, name) = (self.namespace().into(), owner.name.as_ref().into());
        (owner.api_version == "apps/v1").then_some(Owner { namespace, kind, name })
    }
}
