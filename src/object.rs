//! One object, read once and typed: metadata, spec, and the API server's defaults.
//!
//! The metadata borrows from the JSON. The spec consists of k8s-openapi's types and gets the
//! defaults that the API server sets before validation. Parts that are seldom needed are read only
//! when a rule needs them: `managedFields`, the status, and the old object of an UPDATE.

pub mod annotations;
mod decode;
pub mod defaults;
pub(crate) mod deployer;
pub(crate) mod dropped;
mod kruise;
mod lazy_json;
mod metadata;
pub mod schema;
pub mod size;
mod spec;
pub mod storage;
mod user;

use crate::kubernetes::{
    cluster::Cluster,
    resource::{Resource, WorkloadKind},
    semantic,
};
use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
};

pub use decode::DecodeError;
pub(crate) use decode::{RawObject, decode};
use k8s_openapi::{
    api::core::v1::PodTemplateSpec, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
pub use kruise::{KruiseRollingUpdate, KruiseSpec, KruiseUpdateStrategy};
pub use lazy_json::LazyJson;
pub use metadata::{Metadata, Str, StrMap, namespace_or_default};
pub use spec::{DaemonSetSpec, StatefulSetSpec};
use storage::Storage;
pub use user::User;

/// The spec, by kind.
#[derive(Clone, Debug)]
pub enum Workload {
    /// The spec of a DaemonSet.
    DaemonSet(Box<DaemonSetSpec>),
    /// The spec of a StatefulSet.
    StatefulSet(Box<StatefulSetSpec>),
}

/// An object that has been read.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The object's resource.
    pub resource: &'static Resource,
    /// The object's metadata.
    pub metadata: Metadata<'a>,
    /// The object's spec, with defaults.
    pub workload: Workload,
    /// The additional fields of an OpenKruise set.
    pub kruise: Option<KruiseSpec>,
    /// The object's status.
    pub status: LazyJson<'a>,
}

/// Reads the additional fields of an object, if its resource is one of OpenKruise's.
fn kruise(resource: &Resource, json: &str) -> Result<Option<KruiseSpec>, DecodeError> {
    if !resource.is_kruise() {
        return Ok(None);
    }
    let raw: RawObject<'_, KruiseSpec> = decode(resource.kind.as_str(), json)?;
    Ok(Some(raw.spec.unwrap_or_default()))
}

impl<'a> Object<'a> {
    /// Reads an object that must be of this resource, and sets the defaults of its spec.
    ///
    /// # Errors
    /// Returns an error if the JSON does not decode or has a different kind.
    pub fn parse(resource: &'static Resource, json: &'a str) -> Result<Self, DecodeError> {
        let kind = resource.kind.as_str();
        let mut object = match resource.kind {
            WorkloadKind::DaemonSet => {
                let raw: RawObject<'a, Box<DaemonSetSpec>> = decode(kind, json)?;
                Self::of(resource, raw, kruise(resource, json)?, |mut spec, own| {
                    own.into_iter().for_each(|own| defaults::kruise_daemon_set(&mut spec, own));
                    defaults::daemon_set(&mut spec);
                    Workload::DaemonSet(spec)
                })
            }
            WorkloadKind::StatefulSet => {
                let raw: RawObject<'a, Box<StatefulSetSpec>> = decode(kind, json)?;
                Self::of(resource, raw, kruise(resource, json)?, |mut spec, own| {
                    // OpenKruise has this field in `rollingUpdate`, and drops it here.
                    spec.min_ready_seconds.take_if(|_| own.is_some());
                    defaults::stateful_set(&mut spec);
                    Workload::StatefulSet(spec)
                })
            }
        }?;
        defaults::template(match &mut object.workload {
            Workload::DaemonSet(spec) => &mut spec.template,
            Workload::StatefulSet(spec) => &mut spec.template,
        });
        Ok(object)
    }

    fn of<S: Default>(
        resource: &'static Resource,
        raw: RawObject<'a, S>,
        kruise: Option<KruiseSpec>,
        workload: impl FnOnce(S, Option<&KruiseSpec>) -> Workload,
    ) -> Result<Self, DecodeError> {
        let api_version = raw.api_version.unwrap_or_default();
        let kind = raw.kind.unwrap_or_default();
        if Resource::of(&api_version, &kind) != Some(resource) {
            return Err(DecodeError::Kind {
                expected: format!("an {} {}", resource.api_version(), resource.kind),
                api_version: api_version.0.into_owned(),
                kind: kind.0.into_owned(),
            });
        }
        Ok(Object {
            resource,
            metadata: raw.metadata.unwrap_or_default(),
            workload: workload(raw.spec.unwrap_or_default(), kruise.as_ref()),
            kruise,
            status: raw.status,
        })
    }
}

impl Object<'_> {
    /// Returns the object's kind.
    pub const fn kind(&self) -> WorkloadKind {
        self.resource.kind
    }

    /// Returns the object's name, or the prefix of the name that the API server will generate.
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// Returns the spec, if the object is a StatefulSet.
    pub fn stateful_set(&self) -> Option<&StatefulSetSpec> {
        match &self.workload {
            Workload::StatefulSet(spec) => Some(spec),
            Workload::DaemonSet(_) => None,
        }
    }

    /// Returns the selector, if there is one.
    pub fn selector(&self) -> Option<&LabelSelector> {
        match &self.workload {
            Workload::DaemonSet(spec) => spec.selector.as_ref(),
            Workload::StatefulSet(spec) => spec.selector.as_ref(),
        }
    }

    /// Returns the pod template.
    pub fn template(&self) -> &PodTemplateSpec {
        match &self.workload {
            Workload::DaemonSet(spec) => &spec.template,
            Workload::StatefulSet(spec) => &spec.template,
        }
    }
}

/// The subject of rules: the object, the operation on it, and the old object.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Whether the operation is an UPDATE; if not, it is a CREATE.
    pub is_update: bool,
    /// The new object.
    pub object: Object<'a>,
    old: Option<Old<'a>>,
    storage: Option<&'a Storage>,
    /// Whether a rule needed the storage, and it was not known.
    lacks_storage: Cell<bool>,
}

#[derive(Debug)]
struct Old<'a> {
    json: &'a str,
    parsed: OnceCell<Option<Object<'a>>>,
}

impl<'a> Subject<'a> {
    /// Creates the subject for an object that is created.
    pub const fn create(object: Object<'a>) -> Self {
        let lacks_storage = Cell::new(false);
        Subject { is_update: false, object, old: None, storage: None, lacks_storage }
    }

    /// Creates the subject for an object that replaces an old one, which is given as JSON.
    pub const fn update(object: Object<'a>, old: &'a str) -> Self {
        let old = Some(Old { json: old, parsed: OnceCell::new() });
        let lacks_storage = Cell::new(false);
        Subject { is_update: true, object, old, storage: None, lacks_storage }
    }

    /// Adds the claims and volumes that are known.
    #[must_use]
    pub const fn with_storage(mut self, storage: &'a Storage) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Returns whether pods on several nodes are known to be able to use a claim.
    pub fn can_share(&self, claim: &str) -> bool {
        let namespace = self.object.metadata.namespace.as_deref().filter(|it| !it.is_empty());
        self.known_storage().is_some_and(|storage| storage.can_share(namespace, claim))
    }

    /// Returns whether it is not known that only the pods of one node can use a claim.
    pub fn is_unknown_claim(&self, claim: &str) -> bool {
        self.known_storage().is_none_or(|storage| !storage.has_other_claim(claim))
    }

    /// Returns whether a volume without a storage class is known to exist.
    pub fn has_volumes_without_class(&self) -> bool {
        self.known_storage().is_some_and(Storage::has_volumes_without_class)
    }

    fn known_storage(&self) -> Option<&'a Storage> {
        self.lacks_storage.set(self.lacks_storage.get() || self.storage.is_none());
        self.storage
    }

    /// Returns whether a rule needed to know claims and volumes that were not given.
    pub const fn lacks_storage(&self) -> bool {
        self.lacks_storage.get()
    }

    /// Returns the old object. `None` on CREATE, or if it cannot be read. It is read once, when a rule needs it.
    pub fn old(&self) -> Option<&Object<'a>> {
        let old = self.old.as_ref()?;
        old.parsed.get_or_init(|| Object::parse(self.object.resource, old.json).ok()).as_ref()
    }

    /// Returns whether an UPDATE changes the pod template.
    ///
    /// Kubernetes: `PrepareForUpdate`, `pkg/registry/apps/daemonset/strategy.go` and
    /// `pkg/registry/apps/statefulset/strategy.go`, which drops fields of disabled features and
    /// then compares the templates semantically.
    pub fn template_changes(&self, cluster: &Cluster) -> bool {
        let new = self.object.template();
        let Some(old) = self.old().map(Object::template).filter(|old| *old != new) else {
            return false;
        };
        let old = self.as_stored(old, cluster);
        let new = dropped::template(new, old.spec.as_ref(), cluster);
        !semantic::equal_templates(&old, &new)
    }

    /// Returns an old template as the API server has stored it. An object that was never stored, such
    /// as a manifest, still has the fields that the API server drops when it is created.
    pub(crate) fn as_stored<'t>(
        &self,
        old: &'t PodTemplateSpec,
        cluster: &Cluster,
    ) -> Cow<'t, PodTemplateSpec> {
        let is_stored = self.old().is_some_and(|old| old.metadata.uid.is_some());
        dropped::template(old, old.spec.as_ref().filter(|_| is_stored), cluster)
    }

    /// Returns the old object as the subject, for ratcheting: the same operation, without an old
    /// object.
    pub(crate) fn old_alone(&self) -> Option<Subject<'a>> {
        let object = self.old()?.clone();
        let (is_update, storage) = (self.is_update, self.storage);
        Some(Subject { is_update, storage, ..Subject::create(object) })
    }

    /// Returns whether the object is being deleted. Clients must then be able to remove its
    /// finalizers, whatever its faults.
    pub fn is_being_deleted(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Returns whether the old object was already being deleted: neither a CREATE nor an UPDATE can
    /// start a deletion.
    pub fn was_being_deleted(&self) -> bool {
        let on_its_way = |old: &Object<'_>| old.metadata.deletion_timestamp.is_some();
        self.is_update && self.old().is_none_or(on_its_way)
    }
}
