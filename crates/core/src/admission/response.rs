//! The answer to an AdmissionReview. No other module writes one.

use std::{collections::BTreeMap, fmt::Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use json_patch::PatchOperation;
use serde::Serialize;

pub use super::warnings::warning;
use super::{
    review::{API_VERSION, KIND},
    warnings::Warnings,
};
use crate::{
    engine::{adjustment::Why, verdict::Verdict},
    finding::{Finding, Mode, Reason, shorten},
    object::annotations::EXCEED_ANNOTATION,
    rules::api_validation::METAS,
};

/// The message of the denial repeats the causes, and the warnings come on top; the whole answer stays below 64 KiB.
const MAX_CAUSES: usize = 100;
const CAUSES_BYTES: usize = 20 << 10;
/// In bytes, for the field and the text of one cause. A longer one loses its middle.
const FIELD_BYTES: usize = 512;
const CAUSE_BYTES: usize = 4 << 10;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: &'a Response<'a>,
}

/// An answer. Its constructor takes the request's uid, so no answer can lack it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Warnings::is_empty")]
    warnings: Warnings,
}

#[derive(Debug, Serialize)]
struct Status {
    status: &'static str,
    message: String,
    reason: &'static str,
    details: Details,
    code: u16,
}

#[derive(Debug, Serialize)]
struct Details {
    name: String,
    group: String,
    kind: String,
    causes: Vec<Cause>,
}

#[derive(Debug, Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

/// The object that an answer is about.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRef<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    pub kind: &'a str,
    /// The name, or the `generateName` prefix.
    pub name: &'a str,
}

impl<'a> Response<'a> {
    /// Creates an answer that allows the object unchanged.
    pub fn allow(uid: &'a str) -> Self {
        Response { uid, allowed: true, ..Response::default() }
    }

    /// Adds a verdict: denial, warnings and audit annotations.
    pub fn apply(&mut self, object: ObjectRef<'_>, verdict: &Verdict) {
        if !verdict.allowed() {
            self.allowed = false;
            self.status = Some(denial(object, verdict));
        }
        verdict.warnings().for_each(|it| self.warnings.finding(&it.finding));
        verdict.remarks.iter().for_each(|it| self.warn(it));
        self.audit("denied", &join(verdict.denials().map(|j| j.finding.rule.id.to_owned())));
        self.audit("warned", &join(verdict.warnings().map(|j| j.finding.rule.id.to_owned())));
        self.audit("audited", &join(verdict.of(Mode::Audit).map(|j| j.finding.rule.id.to_owned())));
        let excepted = verdict.violations.iter().filter_map(|it| {
            let why = it.adjustments.iter().find_map(|why| match why {
                Why::Exception(reason) => Some(reason.clone()),
                Why::Annotation => Some("annotation".to_owned()),
                Why::Permit(text) => Some(format!("{EXCEED_ANNOTATION}: {text}")),
                Why::Ratchet
                | Why::Place(_)
                | Why::Placeholder(_)
                | Why::Completed(_)
                | Why::Comment { .. } => None,
            })?;
            Some(format!("{} ({why})", it.finding.rule.id))
        });
        self.audit("excepted", &join(excepted));
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: &str) {
        self.warnings.text(warning);
    }

    /// Adds an audit annotation, unless it is empty.
    pub fn audit(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            let text = self.audit_annotations.entry(key).or_default();
            if !text.is_empty() && *text != value {
                text.push_str(", ");
            }
            if *text != value {
                text.push_str(value);
            }
        }
    }

    /// Adds a patch, unless it is empty or the object is denied. Fails if the patch cannot be serialized.
    pub fn patch(&mut self, operations: &[PatchOperation]) -> serde_json::Result<()> {
        if !operations.is_empty() && self.allowed {
            self.patch_type = Some("JSONPatch");
            self.patch = Some(BASE64.encode(serde_json::to_vec(operations)?));
        }
        Ok(())
    }

    /// Returns whether the object is allowed.
    pub const fn allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the answer as JSON, or an error if it cannot be serialized.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Review { api_version: API_VERSION, kind: KIND, response: self })
    }
}

/// Returns a finding as the text of a cause. kubectl prints only the causes of a denial, so the cause of a trap must
/// name setguard and the rule. An error of API validation keeps the API server's own text.
pub fn cause_text(finding: &Finding) -> String {
    if METAS.contains(&finding.rule) {
        finding.message.clone()
    } else {
        format!("{} (setguard: {})", finding.text(), finding.rule.id)
    }
}

fn causes(verdict: &Verdict) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut bytes = 0;
    for denial in verdict.denials().take(MAX_CAUSES) {
        let finding = &denial.finding;
        let cause = Cause {
            reason: finding.reason.as_str(),
            message: shorten(&cause_text(finding), CAUSE_BYTES).into_owned(),
            field: shorten(&finding.field.to_string(), FIELD_BYTES).into_owned(),
        };
        bytes += serde_json::to_string(&cause).map_or(0, |json| json.len());
        if bytes > CAUSES_BYTES && !causes.is_empty() {
            break;
        }
        causes.push(cause);
    }
    let more = verdict.count_denials() - causes.len();
    if more > 0 {
        let (field, message) = ("…".to_owned(), format!("and {more} more"));
        causes.push(Cause { reason: Reason::TooMany.as_str(), message, field });
    }
    causes
}

/// Kubernetes: `NewInvalid`, apimachinery `pkg/api/errors/errors.go`.
fn denial(object: ObjectRef<'_>, verdict: &Verdict) -> Status {
    let causes = causes(verdict);
    let mut message = object.kind.to_owned();
    if !object.group.is_empty() {
        let _ = write!(message, ".{}", object.group);
    }
    let _ = write!(message, " {:?} is invalid: ", object.name);
    let list = join(causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)));
    message.push_str(&if causes.len() == 1 { list } else { format!("[{list}]") });
    Status {
        status: "Failure",
        message,
        reason: "Invalid",
        details: Details {
            name: object.name.to_owned(),
            group: object.group.to_owned(),
            kind: object.kind.to_owned(),
            causes,
        },
        code: 422,
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    let mut unique: Vec<String> = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::verdict::Violation, finding::Mode};

    fn denied(messages: impl IntoIterator<Item = String>) -> Verdict {
        let mut found = crate::finding::Findings::of(&crate::finding::TEST_RULE);
        for message in messages {
            found.report(&crate::finding::paths::SPEC, Reason::Invalid, message, "");
        }
        let left_out = found.left_out().map(|(rule, count)| (rule, Mode::Deny, count)).collect();
        let denied = |finding| Violation::new(finding, Mode::Deny);
        let violations = found.into_vec().into_iter().map(denied).collect();
        Verdict { violations, left_out, ..Verdict::default() }
    }

    #[test]
    fn an_answer_stays_small_whatever_was_found() {
        let object = ObjectRef { group: "apps", kind: "DaemonSet", name: "agent" };
        let long = |i: usize| format!("{i} {}", "\"é\u{1}".repeat(9_000));
        for (messages, kept) in [
            ((0..6_000).map(|i| i.to_string()).collect::<Vec<_>>(), 100),
            ((0..6_000).map(long).collect(), 1),
        ] {
            let mut response = Response::allow("u");
            response.apply(object, &denied(messages));
            let bytes = response.to_bytes().unwrap();
            assert!(bytes.len() <= 64 << 10, "{} bytes", bytes.len());
            let answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let causes = answer["response"]["status"]["details"]["causes"].as_array().unwrap();
            assert_eq!(causes.len(), kept + 1);
            assert_eq!(causes[kept]["message"], format!("and {} more", 6_000 - kept));
        }
    }

    #[test]
    fn an_empty_patch_is_left_out() {
        let mut response = Response::allow("u");
        response.patch(&[]).unwrap();
        let text = String::from_utf8(response.to_bytes().unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}}"#
        );
    }
}
