//! `POST /validate`, `/mutate` and `/mutate/control-plane`: one handler behind three routes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, Version},
    response::Response,
    routing::{MethodRouter, post},
};
use hyper::body::Body as _;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use setguard_core::admission::{self, Answer};
use setguard_core::{
    engine::{Context, deadline::Deadline},
    kubernetes::kind::Kind,
};
use tokio::time::timeout_at;

use super::{
    body::{self, BodyMemory, MAX_BODY},
    http_error::HttpError,
    panics, record,
};
use crate::server::prelude::*;

/// Kubernetes: `timeoutSeconds` of a webhook is 1 to 30.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a review may wait for a change that the view has not seen. The API server sends changes to watches within
/// milliseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Larger bodies are evaluated on a blocking thread: this size takes about a millisecond, the largest take tens of
/// milliseconds, and other requests should not wait. For the usual 10 KiB, switching threads would cost more.
const LARGE_BODY: usize = 32 << 10;

/// A small review reads the clock only once in this many checks of its deadline.
const LOOK_EVERY: usize = 16;

/// Returns the routes that the API server calls.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route(Endpoint::Validate.path(), entry(&app, Endpoint::Validate))
        .route(Endpoint::Mutate.path(), entry(&app, Endpoint::Mutate))
        .route(Endpoint::MutateControlPlane.path(), entry(&app, Endpoint::MutateControlPlane))
        .fallback(|request: Request<Body>| refuse(request, StatusCode::NOT_FOUND, NOT_FOUND))
        .with_state(app)
}

const NOT_FOUND: &str = "not found: POST an AdmissionReview to /validate, /mutate or \
                         /mutate/control-plane\n";
const NOT_ALLOWED: &str = "method not allowed: POST an AdmissionReview\n";

fn entry(app: &Arc<App>, endpoint: Endpoint) -> MethodRouter<Arc<App>> {
    let handler = move |State(app): State<Arc<App>>, request| async move {
        handle(&app, endpoint, request).await
    };
    post(handler).layer(panics::layer(app.clone(), endpoint)).fallback(|request: Request<Body>| {
        refuse(request, StatusCode::METHOD_NOT_ALLOWED, NOT_ALLOWED)
    })
}

/// Answers without reading the body.
async fn refuse(request: Request<Body>, status: StatusCode, why: &'static str) -> Response {
    let mut response = (status, why).into_response();
    if !request.body().is_end_stream() {
        announce_close(request.version(), &mut response);
    }
    response
}

/// HTTP/2 needs no header: it has GOAWAY, and can reject one stream without affecting the others.
fn announce_close(version: Version, response: &mut Response) {
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

async fn handle(app: &App, endpoint: Endpoint, request: Request<Body>) -> Response {
    let started = Instant::now();
    let _in_flight = app.metrics.enter();
    let version = request.version();
    let outcome = review(app, endpoint, request, started).await;
    record::outcome(app, endpoint, &outcome, started.elapsed());
    // All requests that have arrived are evaluated before one of them is answered. The code that evaluates and the code
    // that sends do not fit into the processor's nearest caches together: switching between them at each request takes
    // half as much time again.
    tokio::task::yield_now().await;
    let unread = outcome.as_ref().is_err_and(HttpError::leaves_body_unread);
    let mut response = match outcome {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer.body).into_response(),
        Err(error) => error.into_response(),
    };
    if unread || app.phase() == Phase::Draining {
        announce_close(version, &mut response);
    }
    response
}

async fn review(
    app: &App,
    endpoint: Endpoint,
    request: Request<Body>,
    started: Instant,
) -> Result<Answer, HttpError> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        return Err(HttpError::ContentType);
    }
    let deadline = started + timeout(&head.uri);
    if content_length(&head.headers).is_some_and(|length| length > MAX_BODY) {
        return Err(HttpError::TooLarge);
    }
    let connection = head.extensions.get::<Arc<BodyMemory>>().cloned();
    let connection = connection.unwrap_or_else(|| Arc::new(BodyMemory::of_connection()));
    let (body, _share) = body::read(body, &connection, &app.bodies, deadline).await?;
    if Instant::now() >= deadline {
        return Err(HttpError::Busy);
    }
    let answer = evaluate(app, endpoint, body.clone(), None, (started, deadline)).await?;
    let Some(version) = answer.record.awaits else { return Ok(answer) };
    // The API server sends a change to its watches and the next review at the same time.
    let until = three_quarters(started, deadline).min(Instant::now() + LONGEST_WAIT);
    let namespace = &answer.record.namespace;
    match app.live.wait_for(Kind::StatefulSet, namespace, version, until).await {
        None => Ok(answer),
        reached => evaluate(app, endpoint, body, reached, (started, deadline)).await,
    }
}

/// Evaluates a review with a view that has at least this version.
async fn evaluate(
    app: &App,
    endpoint: Endpoint,
    body: Bytes,
    view_version: Option<u64>,
    (started, deadline): (Instant, Instant),
) -> Result<Answer, HttpError> {
    let end = three_quarters(started, deadline);
    if body.len() <= LARGE_BODY {
        let (policy, view) = (app.policy.load(), app.live.view());
        // The rules are so fast on a small object that reading the clock each time would show.
        let asked = AtomicUsize::new(0);
        let is_over = || {
            let times = asked.load(Relaxed);
            let is_over = times.is_multiple_of(LOOK_EVERY) && Instant::now() >= end;
            asked.store(times + usize::from(!is_over), Relaxed);
            is_over
        };
        let cx = Context::of_review(&policy, today());
        let deadline = Deadline::passed_when(&is_over);
        let cx = Context { view: view.as_deref(), view_version, deadline, ..cx };
        return Ok(admission::answer(endpoint, &body, &cx)?);
    }
    let permit = timeout_at(deadline, app.evaluating.clone().acquire_owned()).await;
    let permit = permit.map_err(|_| HttpError::Busy)?;
    let (policy, view) = (app.policy.load_full(), app.live.view());
    let work = move || {
        // The permit is held until the work is done, even if the client has gone away.
        let _permit = permit;
        let is_over = || Instant::now() >= end;
        let (view, deadline) = (view.as_deref(), Deadline::passed_when(&is_over));
        let cx = Context::of_review(&policy, today());
        let cx = Context { view, view_version, deadline, ..cx };
        admission::answer(endpoint, &body, &cx)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => Ok(answer?),
        Err(error) => match error.try_into_panic() {
            // Resuming the panic in this task lets `panics` answer it.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(HttpError::Busy),
        },
    }
}

/// The rest of the time is for sending the answer.
fn three_quarters(started: Instant, deadline: Instant) -> Instant {
    started + (deadline - started) * 3 / 4
}

/// In UTC. A clock that [`Timestamp`] cannot represent counts as 1970-01-01.
fn today() -> Date {
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(now).date()
}

/// The API server appends its timeout to the URL: `?timeout=5s`.
fn timeout(uri: &Uri) -> Duration {
    let query = uri.query().unwrap_or_default();
    let given = query.split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let given = given.and_then(|text| duration::parse(text).ok());
    given.map_or(LONGEST_TIMEOUT, |given| given.min(LONGEST_TIMEOUT))
}

/// Ignores parameters such as `charset=utf-8`.
fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_the_api_server_is_read() {
        for (uri, seconds) in [
            ("/validate?timeout=5s", 5),
            ("/validate?a=b&timeout=1m", 30),
            ("/validate?timeout=soon", 30),
            ("/validate?timeouts=5s", 30),
            ("/validate", 30),
        ] {
            assert_eq!(timeout(&uri.parse().unwrap()).as_secs(), seconds, "{uri}");
        }
    }

    #[test]
    fn the_day_is_read_without_a_time_zone_database() {
        assert!(today() > jiff::civil::date(2025, 1, 1));
    }

    #[test]
    fn a_content_type_may_have_parameters() {
        let with = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            is_json(&headers)
        };
        assert!(with("application/json"));
        assert!(with("Application/JSON ; charset=utf-8"));
        assert!(!with("application/jsonp"));
        assert!(!with("text/json; application/json"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
