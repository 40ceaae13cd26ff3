//! One object, read once and typed: metadata, spec, and the API server's defaults.
//!
//! The metadata borrows from the JSON. Large parts that rules seldom use are read on demand: `managedFields`, the
//! status, and on UPDATE the old object's pod template.

pub mod annotations;
mod decode;
pub mod defaults;
pub mod deployer;
pub(crate) mod dropped;
mod glance;
mod kruise;
mod lazy_json;
mod metadata;
pub mod schema;
pub mod size;
mod spec;
pub mod storage;
pub mod storage_class;
mod user;
pub(crate) mod whole;

use crate::{
    inventory::object_summary::ObjectSummary,
    kubernetes::{
        cluster::Cluster,
        resource::{Resource, WorkloadKind},
        semantic,
    },
};
use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
};

pub use decode::DecodeError;
use decode::RawObject;
pub(crate) use decode::decode;
use k8s_openapi::{
    api::core::v1::PodTemplateSpec, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
pub use kruise::{KruiseRollingUpdate, KruiseSpec, KruiseUpdateStrategy};
pub use lazy_json::LazyJson;
pub use metadata::{Metadata, Str, StrMap, namespace_or_default};
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use spec::{DaemonSetSpec, StatefulSetSpec};
use storage::Storage;
pub use user::User;

/// The spec of either kind.
#[derive(Clone, Debug)]
pub enum Workload<T = PodTemplateSpec> {
    /// The spec of a DaemonSet.
    DaemonSet(Box<DaemonSetSpec<T>>),
    /// The spec of a StatefulSet.
    StatefulSet(Box<StatefulSetSpec<T>>),
}

/// A decoded object. Its pod template is decoded or a [`LazyJson`].
#[derive(Debug)]
pub struct Object<'a, T = PodTemplateSpec> {
    /// The resource that the object belongs to.
    pub resource: &'static Resource,
    pub metadata: Metadata<'a>,
    /// The spec, with defaults.
    pub workload: Workload<T>,
    /// The fields that only OpenKruise's sets have.
    pub kruise: Option<KruiseSpec>,
    pub status: LazyJson<'a>,
}

fn kruise(resource: &Resource, json: &str) -> Result<Option<KruiseSpec>, DecodeError> {
    if !resource.is_kruise() {
        return Ok(None);
    }
    let raw: RawObject<'_, KruiseSpec> = decode(resource.kind.as_str(), json)?;
    Ok(Some(raw.spec.unwrap_or_default()))
}

impl<'a> Object<'a> {
    /// Reads an object of this resource and sets the defaults of its spec. Fails if the JSON does not decode or has a
    /// different kind.
    pub fn parse(resource: &'static Resource, json: &'a str) -> Result<Self, DecodeError> {
        let mut object = Self::parse_as(resource, json)?;
        defaults::template(object.template_mut());
        Ok(object)
    }

    /// Returns the spec as JSON.
    pub fn spec(&self) -> Option<Value> {
        match &self.workload {
            Workload::DaemonSet(spec) => semantic::to_json(spec),
            Workload::StatefulSet(spec) => semantic::to_json(spec),
        }
    }

    /// Returns the spec as JSON, and in the form that the API server compares.
    pub fn spec_with_meaning(&self) -> [Value; 2] {
        fn both(spec: &impl Serialize) -> [Value; 2] {
            let written = semantic::to_json(spec).unwrap_or_default();
            let meaning = semantic::canonical(spec).unwrap_or_else(|| written.clone());
            [written, meaning]
        }
        let template = semantic::converted(self.template());
        match &self.workload {
            Workload::DaemonSet(spec) => both(&spec.as_ref().clone().with_template(template)),
            Workload::StatefulSet(spec) => both(&spec.as_ref().clone().with_template(template)),
        }
    }
}

impl<'a, T: Deserialize<'a> + Default> Object<'a, T> {
    /// Sets all defaults except the template's.
    fn parse_as(resource: &'static Resource, json: &'a str) -> Result<Self, DecodeError> {
        let kind = resource.kind.as_str();
        let own = kruise(resource, json);
        match resource.kind {
            WorkloadKind::DaemonSet => Self::check(
                resource,
                decode(kind, json)?,
                own?,
                |mut spec: Box<DaemonSetSpec<T>>, own| {
                    own.into_iter().for_each(|own| defaults::kruise_daemon_set(&mut spec, own));
                    defaults::daemon_set(&mut spec);
                    Workload::DaemonSet(spec)
                },
            ),
            WorkloadKind::StatefulSet => Self::check(
                resource,
                decode(kind, json)?,
                own?,
                |mut spec: Box<StatefulSetSpec<T>>, own| {
                    // OpenKruise keeps this field in `rollingUpdate` and drops it here.
                    spec.min_ready_seconds.take_if(|_| own.is_some());
                    defaults::stateful_set(&mut spec);
                    Workload::StatefulSet(spec)
                },
            ),
        }
    }

    fn check<S: Default>(
        resource: &'static Resource,
        raw: RawObject<'a, S>,
        kruise: Option<KruiseSpec>,
        workload: impl FnOnce(S, Option<&KruiseSpec>) -> Workload<T>,
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

impl<T> Object<'_, T> {
    /// Returns the object's kind.
    pub const fn kind(&self) -> WorkloadKind {
        self.resource.kind
    }

    /// Returns the object's name, or its `generateName` prefix.
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// Returns the spec of a StatefulSet, or `None` for a DaemonSet.
    pub fn stateful_set(&self) -> Option<&StatefulSetSpec<T>> {
        match &self.workload {
            Workload::StatefulSet(spec) => Some(spec),
            Workload::DaemonSet(_) => None,
        }
    }

    /// Returns the spec of a DaemonSet, or `None` for a StatefulSet.
    pub fn daemon_set(&self) -> Option<&DaemonSetSpec<T>> {
        match &self.workload {
            Workload::DaemonSet(spec) => Some(spec),
            Workload::StatefulSet(_) => None,
        }
    }

    /// Returns the pod selector, if there is one.
    pub fn selector(&self) -> Option<&LabelSelector> {
        match &self.workload {
            Workload::DaemonSet(spec) => spec.selector.as_ref(),
            Workload::StatefulSet(spec) => spec.selector.as_ref(),
        }
    }

    /// Such as `RollingUpdate` or `OnDelete`.
    pub(crate) fn strategy(&self) -> Option<&str> {
        match &self.workload {
            Workload::DaemonSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
            Workload::StatefulSet(spec) => spec.update_strategy.as_ref()?.type_.as_deref(),
        }
    }

    /// Returns the pod template.
    pub fn template(&self) -> &T {
        match &self.workload {
            Workload::DaemonSet(spec) => &spec.template,
            Workload::StatefulSet(spec) => &spec.template,
        }
    }

    fn template_mut(&mut self) -> &mut T {
        match &mut self.workload {
            Workload::DaemonSet(spec) => &mut spec.template,
            Workload::StatefulSet(spec) => &mut spec.template,
        }
    }
}

/// The subject of a rule: the object, the operation on it, and the old object.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Whether the operation is an UPDATE; otherwise it is a CREATE.
    pub is_update: bool,
    pub object: Object<'a>,
    old: Option<Old<'a>>,
    storage: Option<&'a Storage>,
    /// A rule asked for storage that was not given.
    lacks_storage: Cell<bool>,
    summary: OnceCell<ObjectSummary>,
}

#[derive(Debug, Default)]
struct Old<'a> {
    json: &'a str,
    parsed: OnceCell<Option<Object<'a, LazyJson<'a>>>>,
    /// Whether a glance shows a difference. Several rules ask.
    differs: OnceCell<bool>,
    template: OnceCell<Option<PodTemplateSpec>>,
    alone: OnceCell<Option<Box<Subject<'a>>>>,
}

impl<'a> Subject<'a> {
    /// Creates the subject for a new object.
    pub const fn create(object: Object<'a>) -> Self {
        Subject {
            is_update: false,
            object,
            old: None,
            storage: None,
            lacks_storage: Cell::new(false),
            summary: OnceCell::new(),
        }
    }

    /// Creates the subject for an object that replaces `old`, given as JSON.
    pub fn update(object: Object<'a>, old: &'a str) -> Self {
        let old = Old { json: old, ..Old::default() };
        Subject { is_update: true, old: Some(old), ..Subject::create(object) }
    }

    /// Adds the known claims and volumes.
    #[must_use]
    pub const fn with_storage(mut self, storage: &'a Storage) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Returns whether pods on several nodes can use a claim, as far as the known storage shows.
    pub fn can_share(&self, claim: &str) -> bool {
        let namespace = self.object.metadata.namespace.as_deref().filter(|it| !it.is_empty());
        self.known_storage().is_some_and(|storage| storage.can_share(namespace, claim))
    }

    /// Returns `false` only if the known storage shows that pods on several nodes cannot use a claim.
    pub fn is_unknown_claim(&self, claim: &str) -> bool {
        self.known_storage().is_none_or(|storage| !storage.others.contains(claim))
    }

    /// Returns whether a known volume has no storage class.
    pub fn has_volumes_without_class(&self) -> bool {
        self.known_storage().is_some_and(|it| it.has_volumes_without_class)
    }

    fn known_storage(&self) -> Option<&'a Storage> {
        self.lacks_storage.set(self.lacks_storage.get() || self.storage.is_none());
        self.storage
    }

    /// Returns whether a rule asked for claims and volumes that were not given.
    pub const fn lacks_storage(&self) -> bool {
        self.lacks_storage.get()
    }

    /// Returns the old object without its pod template: `None` on CREATE, or if the old object does not decode.
    pub fn old(&self) -> Option<&Object<'a, LazyJson<'a>>> {
        let old = self.old.as_ref()?;
        old.parsed.get_or_init(|| Object::parse_as(self.object.resource, old.json).ok()).as_ref()
    }

    /// Returns the old pod template. Check everything else first: it costs as much to read as the new object.
    pub fn old_template(&self) -> Option<&PodTemplateSpec> {
        let unread = self.old()?.template();
        let read = || {
            let mut template = match unread.json() {
                Some(_) => unread.read()?,
                None => PodTemplateSpec::default(),
            };
            defaults::template(&mut template);
            Some(template)
        };
        self.old.as_ref()?.template.get_or_init(read).as_ref()
    }

    /// Returns whether an UPDATE changes the pod template. Call this last: an unusual change requires reading the old
    /// template.
    ///
    /// Kubernetes: `PrepareForUpdate`, `pkg/registry/apps/daemonset/strategy.go` and
    /// `pkg/registry/apps/statefulset/strategy.go`: it drops fields of disabled features, then compares the templates
    /// semantically.
    pub fn template_changes(&self, cluster: &Cluster) -> bool {
        let new = self.object.template();
        let Some((old, object)) = self.old.as_ref().zip(self.old()) else { return false };
        let text = *object.template();
        if old.template.get().is_none() && *old.differs.get_or_init(|| glance::differs(text, new)) {
            return true;
        }
        let Some(old) = self.old_template().filter(|old| *old != new) else { return false };
        let old = self.as_stored(old, cluster);
        let new = dropped::template(new, old.spec.as_ref(), cluster);
        !semantic::equal_templates(&old, &new)
    }

    /// An object that was never stored, such as a manifest, still has the fields that the API server drops on CREATE.
    pub(crate) fn as_stored<'t>(
        &self,
        old: &'t PodTemplateSpec,
        cluster: &Cluster,
    ) -> Cow<'t, PodTemplateSpec> {
        let is_stored = self.old().is_some_and(|old| old.metadata.uid.is_some());
        dropped::template(old, old.spec.as_ref().filter(|_| is_stored), cluster)
    }

    /// For ratcheting: the old object as a subject of the same operation, without an old object of its own.
    pub(crate) fn old_alone(&self) -> Option<&Subject<'a>> {
        let alone = &self.old.as_ref()?.alone;
        alone.get_or_init(|| self.read_old_alone().map(Box::new)).as_deref()
    }

    fn read_old_alone(&self) -> Option<Subject<'a>> {
        let (old, template) = (self.old()?, self.old_template()?);
        let template = template.clone();
        let object = Object {
            resource: old.resource,
            metadata: old.metadata.clone(),
            workload: match old.workload.clone() {
                Workload::DaemonSet(spec) => {
                    Workload::DaemonSet(Box::new(spec.with_template(template)))
                }
                Workload::StatefulSet(spec) => {
                    Workload::StatefulSet(Box::new(spec.with_template(template)))
                }
            },
            kruise: old.kruise.clone(),
            status: old.status,
        };
        Some(Subject {
            is_update: self.is_update,
            storage: self.storage,
            ..Subject::create(object)
        })
    }

    pub(crate) fn summary(&self) -> &ObjectSummary {
        self.summary.get_or_init(|| ObjectSummary::of(&self.object))
    }

    /// Returns whether the object is being deleted. Clients must be able to remove its finalizers, whatever its faults.
    pub fn is_being_deleted(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Returns whether the old object was being deleted. Neither a CREATE nor an UPDATE can start a deletion.
    pub fn was_being_deleted(&self) -> bool {
        let on_its_way = |old: &Object<'a, _>| old.metadata.deletion_timestamp.is_some();
        self.is_update && self.old().is_none_or(on_its_way)
    }
}
