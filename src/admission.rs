//! Answers an AdmissionReview: bytes in, bytes out.
//!
//! This module is pure: the server handles HTTP, the clock and the log.

mod one_pass;
mod rehearsal;
pub mod response;
pub mod review;
mod scale;
mod shortened;

use std::cell::OnceCell;

use jiff::civil::Date;
use json_patch::PatchOperation;
use serde_json::value::RawValue;

use self::{
    rehearsal::is_rehearsal,
    response::{ObjectRef, Response},
    review::{Operation, Rejection, Request},
};
use crate::{
    engine::{self, Context, Identity, Origin, deadline::Deadline, verdict::Verdict},
    finding::Mode,
    inject::{self, Injection, pod::Pod},
    inventory::view::View,
    kubernetes::resource::Resource,
    object::{DecodeError, Object, Subject, schema, weight::Weight},
    policy::Policy,
};

/// The HTTP paths that accept a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/mutate`
    Mutate,
    /// `/mutate/control-plane`: the namespace requests control-plane tolerations.
    MutateControlPlane,
    /// `/validate`
    Validate,
}

impl Endpoint {
    /// Returns the HTTP path.
    pub const fn path(self) -> &'static str {
        match self {
            Endpoint::Mutate => "/mutate",
            Endpoint::MutateControlPlane => "/mutate/control-plane",
            Endpoint::Validate => "/validate",
        }
    }
}

/// The kind of answer that a review got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Allowed unchanged.
    Allowed,
    /// Denied.
    Denied,
    /// Allowed with a patch.
    Patched,
}

impl Decision {
    /// Returns the value of the metric label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Allowed => "allowed",
            Decision::Denied => "denied",
            Decision::Patched => "patched",
        }
    }
}

/// The data about an answer for metrics and logs, which never contains an object.
#[derive(Clone, Debug)]
pub struct Record {
    /// `DaemonSet`, `StatefulSet`, `Pod` or `other`: a closed set.
    pub kind: &'static str,
    /// The requested operation.
    pub operation: Operation,
    /// The kind of answer.
    pub decision: Decision,
    /// The rule of each finding, and the mode that applied to it.
    pub findings: Vec<(&'static str, Mode)>,
    /// The injections.
    pub injected: Vec<&'static str>,
    /// The request's uid.
    pub uid: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name, or its prefix.
    pub name: String,
    /// Whether the request is a dry run, so that nothing is stored.
    pub dry_run: bool,
    /// Whether setguard itself caused the call, to check that the API server calls it.
    pub is_rehearsal: bool,
}

/// An answer, and its record.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The AdmissionReview to send back.
    pub body: Vec<u8>,
    /// The record for metrics and logs.
    pub record: Record,
}

/// The reason why a review gets no answer. Problems with the *object* are part of the answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The caller's request is malformed.
    #[error(transparent)]
    Rejection(#[from] Rejection),
    /// The answer cannot be written, which is a bug in setguard.
    #[error("the answer cannot be written as JSON: {0}")]
    Fault(serde_json::Error),
}

/// Users do not read the log, so a warning explains to them why a rule only warns.
const WEAKENED: &str = "setguard: the policy cannot be used; until it is fixed, rules only warn";

/// Answers a review. Without a view of the cluster, each object is evaluated alone.
///
/// # Errors
/// Returns an error if the request is malformed, or the answer cannot be written.
pub fn answer(
    endpoint: Endpoint,
    body: &[u8],
    policy: &Policy,
    view: Option<&View>,
    today: Date,
    deadline: Deadline<'_>,
) -> Result<Answer, AnswerError> {
    let cx = Context { policy, origin: Origin::Admission, today, deadline, view, requester: None };
    let weakened = (policy.is_fallback && endpoint == Endpoint::Validate).then_some(WEAKENED);
    let weakened = weakened.map(str::to_owned);
    if endpoint == Endpoint::Validate
        && let Some(review) = one_pass::shorten(body)
        && let Some((request, subject)) = one_pass::read(&review)
    {
        let mut reply = Reply::new(&request);
        reply.response.warn(weakened);
        reply.name(subject.object.name());
        let cx = Context { requester: Some(&request.user_info), ..cx };
        reply.verdict(&engine::evaluate(&subject, &cx));
        return reply.finish().map_err(AnswerError::Fault);
    }
    let request = Request::parse(body)?;
    let mut reply = Reply::new(&request);
    if is_rehearsal(&request) {
        reply.response.warn([rehearsal(endpoint)]);
        reply.record.is_rehearsal = true;
        return reply.finish().map_err(AnswerError::Fault);
    }
    reply.response.warn(weakened);
    let cx = Context { requester: Some(&request.user_info), ..cx };
    let answered = match endpoint {
        Endpoint::Validate => validate(&request, &cx, &mut reply),
        Endpoint::Mutate => mutate(&request, &cx, &mut reply),
        Endpoint::MutateControlPlane => mutate_control_plane(&request, &cx, &mut reply),
    };
    match answered {
        Err(Rejection::Object(DecodeError::TooHeavy(weight))) => {
            reply.too_heavy(&weight, endpoint, &cx);
        }
        answered => answered?,
    }
    reply.finish().map_err(AnswerError::Fault)
}

/// Returns the warning in the answer to a rehearsal. The warning shows the replica that sent the
/// patch that the API server can call setguard.
pub fn rehearsal(endpoint: Endpoint) -> String {
    format!("setguard.io/rehearsal: {} was called", endpoint.path())
}

fn validate<'a>(
    request: &'a Request<'a>,
    cx: &Context<'_>,
    reply: &mut Reply<'a>,
) -> Result<(), Rejection> {
    if let Some(scaling) = scale::read(request) {
        reply.verdict(&engine::evaluate_scaling(&scaling?, cx));
        return Ok(());
    }
    let Some(subject) = subject(request, reply)? else { return Ok(()) };
    let verdict = engine::evaluate(&subject, cx);
    reply.verdict(&verdict);
    Ok(())
}

fn mutate<'a>(
    request: &'a Request<'a>,
    cx: &Context<'_>,
    reply: &mut Reply<'a>,
) -> Result<(), Rejection> {
    if is_pod(request) {
        if request.operation == Operation::Create {
            let pod = Pod::parse(object(request)?)?;
            reply.name(pod.name());
            let injection = inject::pod(&pod, &request.user_info, &cx.policy.injection);
            reply.injection(&injection, &pod, cx);
        }
        return Ok(());
    }
    let Some(subject) = subject(request, reply)? else { return Ok(()) };
    let verdict = engine::evaluate_before_validation(&subject, cx);
    reply.verdict(&verdict);
    let injection = inject::template(&subject.object, false, &cx.policy.injection);
    reply.injection(&injection, &subject.object, cx);
    Ok(())
}

/// Mutates the DaemonSets of a namespace that requests the control-plane tolerations. A review does
/// not contain the namespace's labels, so the path conveys that the label is set.
fn mutate_control_plane<'a>(
    request: &'a Request<'a>,
    cx: &Context<'_>,
    reply: &mut Reply<'a>,
) -> Result<(), Rejection> {
    let Some(subject) = subject(request, reply)? else { return Ok(()) };
    let injection = inject::template(&subject.object, true, &cx.policy.injection);
    reply.injection(&injection, &subject.object, cx);
    Ok(())
}

/// Returns the subject of the rules: the new state of an object whose kind setguard knows, if there
/// is one.
fn subject<'a>(
    request: &'a Request<'a>,
    reply: &mut Reply<'a>,
) -> Result<Option<Subject<'a>>, Rejection> {
    // A DELETE or CONNECT has no new state.
    let old = match request.operation {
        Operation::Create => None,
        Operation::Update => request.old_object.map(RawValue::get),
        Operation::Connect | Operation::Delete | Operation::Unknown => return Ok(None),
    };
    let Some(resource) = resource(request, reply) else { return Ok(None) };
    let json = object(request)?;
    let (object, old) = match Object::parse(resource, json) {
        Ok(object) => (object, old),
        Err(error @ DecodeError::TooHeavy(_)) => return Err(error.into()),
        // The cause may be just a null, which the API server accepts in many more places.
        Err(error) => {
            let [new, former] = &request.normalized;
            let Some(json) = normalized(json, resource, new) else { return Err(error.into()) };
            let old = old.map(|old| normalized(old, resource, former).unwrap_or(old));
            (Object::parse(resource, json).map_err(|_| error)?, old)
        }
    };
    reply.name(object.name());
    Ok(Some(match old {
        Some(old) => Subject::update(object, old),
        None => Subject::create(object),
    }))
}

/// The longest object that is read a second time, in bytes: normalizing takes far more memory and
/// time.
const MAX_NORMALIZED: usize = 256 << 10;

fn normalized<'a>(
    json: &str,
    resource: &'static Resource,
    keep: &'a OnceCell<String>,
) -> Option<&'a str> {
    if json.len() > MAX_NORMALIZED {
        return None;
    }
    let normalized = schema::normalize(json, resource)?;
    Some(keep.get_or_init(|| normalized))
}

/// Returns the resource to evaluate. An object of an unknown kind is allowed with a warning; a
/// subresource has no spec to evaluate.
fn resource<'a>(request: &Request<'a>, reply: &mut Reply<'a>) -> Option<&'static Resource> {
    let kind = &request.kind;
    let resource = Resource::of_gvk(&kind.group, &kind.version, &kind.kind);
    if resource.is_none() && request.sub_resource.is_empty() {
        reply.response.warn([format!(
            "setguard does not check {} here: remove it from the rules of this webhook",
            kind.kind
        )]);
    }
    resource.filter(|_| request.sub_resource.is_empty())
}

fn is_pod(request: &Request<'_>) -> bool {
    request.kind.group.is_empty() && &*request.kind.kind == "Pod" && request.sub_resource.is_empty()
}

fn object<'a>(request: &Request<'a>) -> Result<&'a str, Rejection> {
    let missing = Rejection::NoObject(request.operation.as_str());
    request.object.map(|raw| raw.get()).ok_or(missing)
}

/// An answer under construction, with its record for metrics and logs.
struct Reply<'a> {
    response: Response<'a>,
    request: &'a Request<'a>,
    patch: Vec<PatchOperation>,
    record: Record,
}

impl<'a> Reply<'a> {
    fn new(request: &'a Request<'a>) -> Self {
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
                decision: Decision::Allowed,
                findings: Vec::new(),
                injected: Vec::new(),
                uid: request.uid.to_string(),
                namespace: request.namespace.to_string(),
                name: request.name.to_string(),
                dry_run: request.dry_run.unwrap_or(false),
                is_rehearsal: false,
            },
        }
    }

    /// Records the object's own name, if the request has none.
    fn name(&mut self, name: &str) {
        if self.record.name.is_empty() {
            name.clone_into(&mut self.record.name);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let kind = &self.request.kind;
        let object = ObjectRef { group: &kind.group, kind: &kind.kind, name: &self.record.name };
        self.response.apply(object, verdict);
        let findings = verdict.violations.iter().map(|it| (it.finding.rule.id, it.mode));
        self.record.findings.extend(findings);
    }

    /// Reports an object that is too heavy to read, and so is neither evaluated nor changed.
    fn too_heavy(&mut self, weight: &Weight, endpoint: Endpoint, cx: &Context<'_>) {
        let request = self.request;
        let old = request.old_object.map(RawValue::get);
        let (namespace, name) = (&request.namespace, &self.record.name);
        let mut verdict = engine::evaluate_too_heavy(weight, namespace, name, old, cx);
        if endpoint != Endpoint::Validate {
            self.response.audit("not-injected", "the object is too large to evaluate");
            // Pods are evaluated only here. The validating webhook evaluates sets, and denies them.
            if !is_pod(request) {
                verdict.at_most(Mode::Warn);
            }
        }
        self.verdict(&verdict);
    }

    fn injection<'o>(
        &mut self,
        injection: &Injection,
        object: impl Into<Identity<'o>>,
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

    fn finish(mut self) -> serde_json::Result<Answer> {
        self.response.patch(&self.patch)?;
        self.record.decision = match (self.response.allowed(), self.patch.is_empty()) {
            (false, _) => Decision::Denied,
            (true, false) => Decision::Patched,
            (true, true) => Decision::Allowed,
        };
        Ok(Answer { body: self.response.to_bytes()?, record: self.record })
    }
}
