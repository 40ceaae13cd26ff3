//! A stream of documents, printed as it would be stored after injection.

use json_patch::Patch;
use setguard_core::admission::response;
use setguard_core::{
    engine::verdict::Verdict,
    inject::{self, Injection, pod::PartialPod},
    object::{self, DecodeError, Metadata, size::ObjectSize},
};
use setguard_files::manifests::{id::ObjectId, objects};

use crate::cli::prelude::*;

pub(super) struct Preview<'a> {
    pub(super) user: User<'a>,
    /// The namespaces that request the control-plane tolerations.
    pub(super) namespaces: &'a Namespaces,
    pub(super) context: Context<'a>,
}

#[derive(Debug, Default)]
pub(super) struct StreamResult {
    pub(super) denied: usize,
    pub(super) problems: Vec<Problem>,
}

struct Change {
    injection: Injection,
    verdict: Verdict,
    name: String,
}

impl<'a> Preview<'a> {
    /// Denials and warnings go to `notes`.
    pub(super) fn print(
        &self,
        text: &str,
        out: &mut impl Write,
        notes: &mut impl Write,
    ) -> io::Result<StreamResult> {
        let mut result = StreamResult::default();
        let mut is_first = true;
        for document in kube_yaml::documents(text) {
            let root = match document {
                Ok(document) => document.root,
                Err(problem) => {
                    result.problems.push(problem);
                    continue;
                }
            };
            let mut whole: Value = serde_json::from_str(&root.to_json()).unwrap_or_default();
            if whole.is_null() {
                continue;
            }
            for object in objects::ManifestObject::all(root) {
                let Some(change) = self.change(&object) else { continue };
                for violation in change.verdict.denials().chain(change.verdict.warnings()) {
                    let warning = response::warning(&violation.finding);
                    writeln!(notes, "{}: {}: {warning}", change.name, violation.mode)?;
                }
                for remark in &change.verdict.remarks {
                    writeln!(notes, "{}: note: {remark}", change.name)?;
                }
                if !change.verdict.allowed() {
                    result.denied += 1;
                } else if let Some(object) = whole.pointer_mut(&object.at.pointer()) {
                    let patch = Patch(change.injection.patch);
                    json_patch::patch(object, &patch).map_err(io::Error::other)?;
                }
            }
            if !std::mem::take(&mut is_first) {
                out.write_all(b"---\n")?;
            }
            out.write_all(to_yaml(&whole)?.as_bytes())?;
        }
        Ok(result)
    }

    /// Returns `None` if the object cannot be read, or if nothing is ever injected into its kind.
    fn change(&self, object: &objects::ManifestObject<'_>) -> Option<Change> {
        let json = object.node.to_json();
        let settings = &self.context.policy.injection;
        if (object.api_version(), object.kind()) == ("v1", "Pod") {
            let pod = match PartialPod::parse(&json) {
                Err(DecodeError::TooLarge(size)) => {
                    return Some(self.refuse(&size, object));
                }
                pod => pod.ok()?,
            };
            let injection = inject::pod(&pod, &self.user, settings);
            return Some(self.evaluate(injection, &pod.metadata));
        }
        let resource = Resource::of(object.api_version(), object.kind())?;
        let object = match object::Object::parse(resource, &json) {
            Err(DecodeError::TooLarge(size)) => return Some(self.refuse(&size, object)),
            object => object.ok()?,
        };
        let asks = self.namespaces.contains(object.metadata.namespace());
        let injection = inject::template(&object, asks, settings);
        Some(self.evaluate(injection, &object.metadata))
    }

    fn refuse(&self, size: &ObjectSize, object: &objects::ManifestObject<'_>) -> Change {
        let id = ObjectId::of(&object.node);
        let (namespace, name) = (&id.namespace, &id.name);
        let verdict = engine::evaluate_too_large(size, namespace, name, None, &self.context);
        Change { injection: Injection::default(), verdict, name: id.name }
    }

    fn evaluate(&self, injection: Injection, object: &Metadata<'_>) -> Change {
        let verdict = engine::evaluate_injection(&injection, object, &self.context);
        Change { injection, verdict, name: object.name().to_owned() }
    }
}

/// kubectl does not read every block scalar of YAML 1.2, such as one that begins with a tab.
fn to_yaml(value: &Value) -> io::Result<String> {
    let is_read = |text: &str| match kube_yaml::parse(text).as_slice() {
        [Ok(document)] => {
            serde_json::from_str::<Value>(&document.root.to_json()).is_ok_and(|read| read == *value)
        }
        _ => false,
    };
    let text = serde_saphyr::to_string(value).map_err(io::Error::other)?;
    if is_read(&text) {
        return Ok(text);
    }
    let quoted = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, quoted).map_err(io::Error::other)
}
