//! Makes the API server call setguard: a dry-run patch of setguard's own ConfigMap changes nothing.

use setguard_core::admission::rehearsal;

use super::{Target, problem::Problem, why};
use crate::server::managed::cluster::{self, send};
use crate::server::prelude::*;

/// How many times in a row the API server must call setguard.
pub(super) const REHEARSALS: usize = 5;
pub(super) const PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Rehearsed {
    /// The configurations whose webhooks the API server called.
    pub(crate) called: Vec<Configuration>,
    /// The ConfigMap as the API server returned it.
    pub(super) object: Value,
}

pub(super) const fn endpoint(configuration: Configuration) -> Endpoint {
    match configuration {
        Configuration::Validating => Endpoint::Validate,
        Configuration::Mutating => Endpoint::Mutate,
    }
}

pub(crate) async fn rehearse(target: &Target) -> Result<Rehearsed, Problem> {
    let Target { namespace, name } = target;
    // A new client has no open connections, so several API servers behind one address take turns.
    let client = cluster::client().await.map_err(|it| Problem::NotCalled(format!("{it:#}")))?;
    let path = format!(
        "/api/v1/namespaces/{namespace}/configmaps/{name}?dryRun=All&fieldManager=setguard"
    );
    let what = format!("a dry-run patch of ConfigMap {namespace}/{name}");
    let answer = send(&client, &what, Method::PATCH, &path, &json!({})).await?;
    let has = |endpoint| {
        let text = rehearsal(endpoint);
        answer.warnings.iter().any(|it| it.contains(&text))
    };
    let was_called = |configuration: &Configuration| has(endpoint(*configuration));
    let called = Configuration::ALL.into_iter().filter(was_called).collect();
    let status = answer.status;
    if !status.is_success() {
        let message = match answer.message().as_str() {
            "" => status.to_string(),
            message => message.to_owned(),
        };
        return Err(Problem::NotCalled(why::refused(target, status, &message)));
    }
    Ok(Rehearsed { called, object: answer.body })
}
