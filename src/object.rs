//! One object, read once and typed: metadata, spec, and the API server's defaults.
//!
//! Imports: kubernetes, yaml.
//!
//! Metadata is borrowed from the JSON that it came in, and `managedFields` is skipped. The spec holds
//! k8s-openapi's types and is defaulted as the API server defaults it before validation. The old
//! object of an UPDATE is read when a rule asks for it; its pod template, which is most of it, only
//! when a rule asks for that.

pub mod defaults;
mod kruise;
pub mod marks;
mod metadata;
pub mod schema;
mod spec;
mod user;

use crate::kubernetes::resource::{Kind, Resource};
use std::cell::OnceCell;

use k8s_openapi::{
    api::core::v1::PodTemplateSpec, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
pub use kruise::{KruiseRollingUpdate, KruiseSpec, KruiseUpdateStrategy};
pub use metadata::{Metadata, Str, StrMap, namespace_or_default};
use serde::Deserialize;
use serde_json::value::RawValue;
pub use spec::{DaemonSetSpec, StatefulSetSpec, Unread};
pub use user::User;

/// The spec, by kind.
#[derive(Clone, Debug)]
pub enum Workload<T = PodTemplateSpec> {
    /// Of a DaemonSet.
    DaemonSet(Box<DaemonSetSpec<T>>),
    /// Of a StatefulSet.
    StatefulSet(Box<StatefulSetSpec<T>>),
}

/// An object that was read, with its pod template or without.
#[derive(Debug)]
pub struct Object<'a, T = PodTemplateSpec> {
    /// What it is.
    pub resource: &'static Resource,
    /// Its metadata.
    pub metadata: Metadata<'a>,
    /// Its spec, defaulted.
    pub workload: Workload<T>,
    /// What an OpenKruise set has beside that.
    pub kruise: Option<KruiseSpec>,
    /// Its status, unread.
    pub status: Option<&'a RawValue>,
}

/// The object does not decode as what it says it is.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or a field of the wrong type.
    #[error("the object cannot be read as a {kind}: {source}")]
    Json {
        /// What it should have been.
        kind: &'static str,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// It is of another kind.
    #[error("expected {expected}, got apiVersion {api_version:?}, kind {kind:?}")]
    Kind {
        /// `an apps/v1 DaemonSet`.
        expected: String,
        /// What the object says.
        api_version: String,
        /// What the object says.
        kind: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a, S> {
    #[serde(borrow, default)]
    api_version: Option<Str<'a>>,
    #[serde(borrow, default)]
    kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'a>>,
    #[serde(default = "Option::default")]
    spec: Option<S>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

impl<'a> Object<'a> {
    /// Reads an object that is expected to be this resource, and defaults its spec.
    ///
    /// # Errors
    /// When the JSON does not decode or is of another kind.
    pub fn parse(resource: &'static Resource, json: &'a str) -> Result<Self, DecodeError> {
        let mut object = Self::parse_as(resource, json)?;
        defaults::template(match &mut object.workload {
            Workload::DaemonSet(spec) => &mut spec.template,
            Workload::StatefulSet(spec) => &mut spec.template,
        });
        Ok(object)
    }
}

impl<'a, T: Deserialize<'a> + Default> Object<'a, T> {
    /// Reads an object and defaults all but its template.
    fn parse_as(resource: &'static Resource, json: &'a str) -> Result<Self, DecodeError> {
        match resource.kind {
            Kind::DaemonSet => {
                Self::read(resource, json, |mut spec: Box<DaemonSetSpec<T>>, own| {
                    own.into_iter().for_each(|own| defaults::kruise_daemon_set(&mut spec, own));
                    defaults::daemon_set(&mut spec);
                    Workload::DaemonSet(spec)
                })
            }
            Kind::StatefulSet => {
                Self::read(resource, json, |mut spec: Box<StatefulSetSpec<T>>, own| {
                    // OpenKruise has it elsewhere, and drops it here.
                    spec.min_ready_seconds.take_if(|_| own.is_some());
                    defaults::stateful_set(&mut spec);
                    Workload::StatefulSet(spec)
                })
            }
        }
    }

    fn read<S: Deserialize<'a> + Default>(
        resource: &'static Resource,
        json: &'a str,
        workload: impl FnOnce(S, Option<&KruiseSpec>) -> Workload<T>,
    ) -> Result<Self, DecodeError> {
        let wrong = |source| DecodeError::Json { kind: resource.kind.as_str(), source };
        let raw: Raw<'a, S> = serde_json::from_str(json).map_err(wrong)?;
        let kruise = if resource.is_kruise() {
            let raw: Raw<'a, KruiseSpec> = serde_json::from_str(json).map_err(wrong)?;
            Some(raw.spec.unwrap_or_default())
        } else {
            None
        };
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
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        self.resource.kind
    }

    /// Its name, or the prefix of the name that it will get.
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// The selector, if there is one.
    pub fn selector(&self) -> Option<&LabelSelector> {
        match &self.workload {
            Workload::DaemonSet(spec) => spec.selector.as_ref(),
            Workload::StatefulSet(spec) => spec.selector.as_ref(),
        }
    }

    /// The pod template.
    pub fn template(&self) -> &T {
        match &self.workload {
            Workload::DaemonSet(spec) => &spec.template,
            Workload::StatefulSet(spec) => &spec.template,
        }
    }
}

/// What rules look at: the object, what is done to it, and what it was before.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Whether it replaces an old one; if not, it is new.
    pub is_update: bool,
    /// The object as it shall be.
    pub object: Object<'a>,
    old: Option<Old<'a>>,
}

#[derive(Debug)]
struct Old<'a> {
    json: &'a str,
    parsed: OnceCell<Option<Object<'a, Unread<'a>>>>,
    template: OnceCell<Option<PodTemplateSpec>>,
}

impl<'a> Subject<'a> {
    /// An object that is created.
    pub const fn create(object: Object<'a>) -> Self {
        Subject { is_update: false, object, old: None }
    }

    /// An object that replaces an old one, given as JSON.
    pub const fn update(object: Object<'a>, old: &'a str) -> Self {
        let old = Old { json: old, parsed: OnceCell::new(), template: OnceCell::new() };
        Subject { is_update: true, object, old: Some(old) }
    }

    /// The object as it was, without its pod template: `None` on CREATE, or when it cannot be read.
    pub fn old(&self) -> Option<&Object<'a, Unread<'a>>> {
        let old = self.old.as_ref()?;
        old.parsed.get_or_init(|| Object::parse_as(self.object.resource, old.json).ok()).as_ref()
    }

    /// The pod template as it was. To read it costs as much as to read the new object: ask last.
    pub fn old_template(&self) -> Option<&PodTemplateSpec> {
        let unread = self.old()?.template();
        let read = || {
            let mut template = unread.map_or_else(
                || Some(PodTemplateSpec::default()),
                |raw| serde_json::from_str(raw.get()).ok(),
            )?;
            defaults::template(&mut template);
            Some(template)
        };
        self.old.as_ref()?.template.get_or_init(read).as_ref()
    }

    /// The same question asked of the old object alone, for ratcheting.
    pub(crate) fn of_old(&self) -> Option<Subject<'a>> {
        let object = Object::parse(self.object.resource, self.old.as_ref()?.json).ok()?;
        Some(Subject { is_update: self.is_update, object, old: None })
    }

    /// The object is on its way out: whatever it is, its finalizers must be removable.
    pub fn is_being_deleted(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// The old object was on its way out already: neither a CREATE nor an UPDATE can begin that.
    pub fn was_being_deleted(&self) -> bool {
        let on_its_way = |old: &Object<'a, _>| old.metadata.deletion_timestamp.is_some();
        self.is_update && self.old().is_none_or(on_its_way)
    }
}
