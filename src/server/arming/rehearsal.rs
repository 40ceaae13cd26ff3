//! Has the API server call setguard, by a dry-run patch of setguard's own ConfigMap, which changes
//! nothing.

use std::time::Duration;

use axum::http::{Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use serde_json::Value;

use super::{problem::Problem, target::Target, why};
use crate::{
    admission::{Endpoint, rehearsal},
    server::{
        configuration::Configuration,
        managed::cluster::{self, call},
    },
};

/// The API server has to call setguard this many times in a row, with a pause in between. Each
/// rehearsal uses a new connection, so several API servers behind one address take turns.
pub(super) const REHEARSALS: usize = 5;
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// The maximum number of bytes that are read of an answer.
const LONGEST_ANSWER: usize = 64 << 10;

/// The result of a patch that the API server accepted.
pub(crate) struct Rehearsed {
    /// The configurations through which the API server called setguard.
    pub(crate) called: Vec<Configuration>,
    /// The ConfigMap as the API server returned it.
    pub(super) object: Value,
}

/// Returns the endpoint that answers the rehearsal of a configuration.
pub(super) const fn endpoint(configuration: Configuration) -> Endpoint {
    match configuration {
        Configuration::Validating => Endpoint::Validate,
        Configuration::Mutating => Endpoint::Mutate,
    }
}

/// Has the API server call setguard once.
pub(crate) async fn rehearse(target: &Target) -> Result<Rehearsed, Problem> {
    let Target { namespace, name } = target;
    // A new client has no open connections, so several API servers behind one address take turns.
    let client = cluster::client().await.map_err(|it| Problem::NotCalled(format!("{it:#}")))?;
    let path = format!(
        "/api/v1/namespaces/{namespace}/configmaps/{name}?dryRun=All&fieldManager=setguard"
    );
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Body::from(b"{}".to_vec()))
        .map_err(|error| Problem::NotCalled(error.to_string()))?;
    let what = format!("a dry-run patch of ConfigMap {namespace}/{name}");
    let response = call(what, client.send(request)).await?;
    let status = response.status();
    let warnings: Vec<_> = response.headers().get_all(header::WARNING).iter().collect();
    let has = |endpoint| {
        let text = rehearsal(endpoint);
        warnings.iter().any(|it| it.to_str().is_ok_and(|it| it.contains(&text)))
    };
    let was_called = |configuration: &Configuration| has(endpoint(*configuration));
    let called = Configuration::ALL.into_iter().filter(was_called).collect();
    let object = body(response).await;
    if !status.is_success() {
        let message = object["message"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        return Err(Problem::NotCalled(why::refused(target, status, &message)));
    }
    Ok(Rehearsed { called, object })
}

/// Parses an answer: the object, or the Status that explains the API server's refusal.
async fn body(response: Response<Body>) -> Value {
    let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_default()
}
