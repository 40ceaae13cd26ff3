use serde::de::IgnoredAny;
use setguard_core::{
    engine::{self, Context, Origin, verdict::Verdict},
    kubernetes::resource::Resource,
    object::{DecodeError, Object, Subject, storage::Storage},
};
use setguard_files::report::diagnostic::Strictness;

use crate::prelude::*;

#[derive(Debug)]
pub(super) struct Evaluator<'a> {
    pub(super) policy: &'a Policy,
    pub(super) strictness: Strictness,
    pub(super) now: Timestamp,
}

#[derive(Debug)]
pub(super) struct Alone {
    pub(super) name: ObjectName,
    pub(super) verdict: Verdict,
    /// `None` if the set is too large to read.
    pub(super) item: Option<ObjectSummary>,
    /// Whether the verdict is incomplete without the set's claims and volumes.
    pub(super) lacks_storage: bool,
}

/// The start of an object. Objects in lists have no type, except for custom resources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<IgnoredAny>,
    metadata: Names,
}

#[derive(Deserialize)]
struct Names {
    name: Box<str>,
    #[serde(default)]
    namespace: Box<str>,
    #[serde(default)]
    uid: Box<str>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn context(&self) -> Context<'a> {
        Context::of_command(self.policy, Origin::Cluster, self.now)
    }

    pub(super) fn alone(
        &self,
        of: &Collection,
        json: &str,
        storage: Option<&Storage>,
    ) -> Result<Alone, String> {
        let &Collection { api_version, kind, .. } = of;
        let wrong = |error: String| format!("a {kind} cannot be read: {error}");
        let head: Head = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
        let Names { namespace, name, uid } = head.metadata;
        let name = ObjectName { namespace, kind, name, api_version, uid };
        let resource =
            Resource::of(api_version, kind.as_str()).ok_or_else(|| wrong(api_version.into()))?;
        let typed = match (head.api_version, json.strip_prefix('{')) {
            (None, Some(rest)) => {
                format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",{rest}")
            }
            _ => json.to_owned(),
        };
        let cx = self.context();
        let (verdict, item, lacks_storage) = match Object::parse(resource, &typed) {
            Ok(object) => {
                let item = ObjectSummary::of(&object).with_refusals(object.template());
                let mut subject = Subject::create(object);
                if let Some(storage) = storage {
                    subject = subject.with_storage(storage);
                }
                let verdict = engine::evaluate(&subject, &cx);
                (verdict, Some(item), subject.lacks_storage())
            }
            Err(DecodeError::TooLarge(size)) => {
                let (namespace, name) = (&name.namespace, &name.name);
                (engine::evaluate_too_large(&size, namespace, name, None, &cx), None, false)
            }
            Err(error) => {
                let ObjectName { namespace, name, .. } = &name;
                return Err(format!("{kind} {namespace}/{name}: {error}"));
            }
        };
        Ok(Alone { name, verdict, item, lacks_storage })
    }
}
