//! Answers an AdmissionReview: bytes in, bytes out. The server handles HTTP, the clock and the log.

mod record;
mod rehearsal;
mod reply;
pub mod response;
pub mod review;
mod scale;
mod subject;
mod warnings;

pub use self::record::{Answer, Decision, Endpoint, Record};
use self::{
    rehearsal::is_rehearsal,
    reply::Reply,
    review::{Operation, Rejection, Request},
    subject::{object, subject},
};
use crate::{
    engine::{self, Context, verdict::Verdict},
    inject::{self, pod::PartialPod},
    object::{DecodeError, Subject},
};

/// Why a review gets no answer. Problems with the *object* are part of an answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The request is malformed.
    #[error(transparent)]
    Rejection(#[from] Rejection),
    /// The answer cannot be serialized. This is a bug in setguard.
    #[error("the answer cannot be written as JSON: {0}")]
    Fault(serde_json::Error),
}

/// Users do not read the log, so a warning explains why rules only warn.
const WEAKENED: &str = "setguard: the policy cannot be used; until it is fixed, rules only warn";

/// Answers a review. Without a view of the cluster in `cx`, the object is evaluated alone. Fails if the request is
/// malformed, or the answer cannot be serialized.
pub fn answer(endpoint: Endpoint, body: &[u8], cx: &Context<'_>) -> Result<Answer, AnswerError> {
    let weakened = (cx.policy.is_fallback && endpoint == Endpoint::Validate).then_some(WEAKENED);
    let request = Request::parse(body)?;
    let mut reply = Reply::new(&request);
    if is_rehearsal(&request) {
        reply.response.warn(&rehearsal(endpoint));
        reply.record.is_rehearsal = true;
        return reply.finish().map_err(AnswerError::Fault);
    }
    weakened.iter().for_each(|it| reply.response.warn(it));
    let cx = Context { requester: Some(&request.user_info), ..*cx };
    let answered = match endpoint {
        Endpoint::Validate => validate(&request, &cx, &mut reply),
        Endpoint::Mutate => mutate(&request, &cx, &mut reply),
        Endpoint::MutateControlPlane => mutate_control_plane(&request, &cx, &mut reply),
    };
    match answered {
        Err(Rejection::Object(DecodeError::TooLarge(size))) => {
            reply.too_large(&size, endpoint, &cx);
        }
        answered => answered?,
    }
    reply.finish().map_err(AnswerError::Fault)
}

/// Returns the warning in the answer to a rehearsal. It shows the sender that the API server can call setguard.
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
    reply.verdict(&evaluate(&subject, cx));
    Ok(())
}

/// Injected tolerations that the set no longer requests show only once the API server has merged the object.
fn evaluate(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = engine::evaluate(subject, cx);
    verdict.join(engine::evaluate_left_over(subject, None, cx));
    verdict
}

fn mutate<'a>(
    request: &'a Request<'a>,
    cx: &Context<'_>,
    reply: &mut Reply<'a>,
) -> Result<(), Rejection> {
    if request.is_pod() {
        if request.operation == Operation::Create {
            let pod = PartialPod::parse(object(request)?)?;
            reply.name(pod.name());
            let injection = inject::pod(&pod, &request.user_info, &cx.policy.injection);
            reply.injection(&injection, &pod.metadata, cx);
        }
        return Ok(());
    }
    let Some(subject) = subject(request, reply)? else { return Ok(()) };
    let verdict = engine::evaluate_before_validation(&subject, cx);
    reply.verdict(&verdict);
    let injection = inject::template(&subject.object, false, &cx.policy.injection);
    reply.injection(&injection, &subject.object.metadata, cx);
    Ok(())
}

/// A review does not contain the namespace's labels, so the path conveys that the namespace requests the control-plane
/// tolerations.
fn mutate_control_plane<'a>(
    request: &'a Request<'a>,
    cx: &Context<'_>,
    reply: &mut Reply<'a>,
) -> Result<(), Rejection> {
    let Some(subject) = subject(request, reply)? else { return Ok(()) };
    let injection = inject::template(&subject.object, true, &cx.policy.injection);
    reply.injection(&injection, &subject.object.metadata, cx);
    Ok(())
}
