use json_patch::PatchOperation;
use serde_json::value::RawValue;

use super::{
    record::{Answer, Decision, Endpoint, Record},
    response::{ObjectRef, Response},
    review::Request,
};
use crate::{
    engine::{self, Context, verdict::Verdict},
    finding::Mode,
    inject::Injection,
    object::{Metadata, size::ObjectSize},
};

pub(super) struct Reply<'a> {
    pub(super) response: Response<'a>,
    request: &'a Request<'a>,
    patch: Vec<PatchOperation>,
    pub(super) record: Record,
}

impl<'a> Reply<'a> {
    pub(super) fn new(request: &'a Request<'a>) -> Self {
        let kind = match &*request.kind.kind {
            "DaemonSet" => "DaemonSet",
            "StatefulSet" => "StatefulSet",
            "Pod" => "Pod",
            _ => "other",
        };
        Reply {
            response: Response::allow(&request.uid),
            request,
            patch: Vec::new(),
            record: Record {
                kind,
                operation: request.operation,
                uid: request.uid.to_string(),
                namespace: request.namespace.to_string(),
                name: request.name.to_string(),
                dry_run: request.dry_run.unwrap_or(false),
                ..Record::default()
            },
        }
    }

    /// The request has no name if the API server has yet to generate it.
    pub(super) fn name(&mut self, name: &str) {
        if self.record.name.is_empty() {
            name.clone_into(&mut self.record.name);
        }
    }

    pub(super) fn verdict(&mut self, verdict: &Verdict) {
        let kind = &self.request.kind;
        let object = ObjectRef { group: &kind.group, kind: &kind.kind, name: &self.record.name };
        self.response.apply(object, verdict);
        let findings = verdict.violations.iter().map(|it| (it.finding.rule.id, it.mode));
        self.record.findings.extend(findings);
        self.record.awaits = self.record.awaits.max(verdict.awaits);
    }

    /// An object that is too large to read is neither evaluated nor changed.
    pub(super) fn too_large(&mut self, size: &ObjectSize, endpoint: Endpoint, cx: &Context<'_>) {
        let request = self.request;
        let old = request.old_object.map(RawValue::get);
        let (namespace, name) = (&request.namespace, &self.record.name);
        let mut verdict = engine::evaluate_too_large(size, namespace, name, old, cx);
        if endpoint != Endpoint::Validate {
            self.response.audit("not-injected", "the object is too large to evaluate");
            // The validating webhook evaluates and denies sets. Only this one evaluates pods.
            if !request.is_pod() {
                verdict.at_most(Mode::Warn);
            }
        }
        self.verdict(&verdict);
    }

    pub(super) fn injection(
        &mut self,
        injection: &Injection,
        object: &Metadata<'_>,
        cx: &Context<'_>,
    ) {
        self.verdict(&engine::evaluate_injection(injection, object, cx));
        if self.response.allowed() {
            self.patch.clone_from(&injection.patch);
            self.record.injected.clone_from(&injection.injected);
            self.response.audit("injected", &injection.injected.join(", "));
        }
        let denied = (!self.response.allowed()).then_some("the object is denied");
        let why_not = injection.why_not.or(denied).unwrap_or_default();
        self.response.audit("not-injected", why_not);
    }

    pub(super) fn finish(mut self) -> serde_json::Result<Answer> {
        self.response.patch(&self.patch)?;
        self.record.decision = match (self.response.allowed(), self.patch.is_empty()) {
            (false, _) => Decision::Denied,
            (true, false) => Decision::Patched,
            (true, true) => Decision::Allowed,
        };
        Ok(Answer { body: self.response.to_bytes()?, record: self.record })
    }
}
