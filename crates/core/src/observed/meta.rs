use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use crate::{kubernetes::resource::WorkloadKind, object::namespace_or_default};

pub(super) type Name = (Box<str>, Box<str>);

/// `L` is the type of the labels.
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

#[derive(Deserialize)]
#[serde(bound(deserialize = "L: Deserialize<'de> + Default"))]
struct Bare<'a, L> {
    #[serde(borrow)]
    metadata: Metadata<'a, L>,
}

pub(super) fn names(json: &str) -> serde_json::Result<(Box<str>, Box<str>)> {
    let Bare::<'_, Unread> { metadata } = serde_json::from_str(json)?;
    Ok((metadata.namespace().into(), metadata.name().into()))
}

pub(super) fn labels(json: &str) -> serde_json::Result<(Box<str>, BTreeMap<String, String>)> {
    let Bare::<'_, BTreeMap<String, String>> { mut metadata } = serde_json::from_str(json)?;
    let labels = metadata.labels.take().unwrap_or_default();
    Ok((metadata.name().into(), labels))
}

/// Skips labels or any other object.
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

impl<L> Metadata<'_, L> {
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

    pub(super) fn owner_pods(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.owner_references.iter().flatten();
        let pods = owners.filter(|owner| owner.kind == "Pod" && owner.api_version == "v1");
        pods.map(|owner| (&*owner.name, &*owner.uid))
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        let mut owners = self.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        let kind = [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet];
        let kind = kind.into_iter().find(|kind| kind.as_str() == owner.kind)?;
        let (namespace, name) = (self.namespace().into(), owner.name.as_ref().into());
        (owner.api_version == "apps/v1").then_some(Owner { namespace, kind, name })
    }
}
