//! `serve --arm-webhooks`: the webhook configurations get their rules when setguard can be called.
//!
//! A webhook without rules matches nothing, so a configuration without them refuses nothing, whatever
//! its `failurePolicy`. The chart installs it that way, with the rules in an annotation, and this
//! module copies them to where they take effect. First it sees that the API server calls setguard: for
//! one kind of request, a SelfSubjectReview by setguard's own account, the configuration has a rule
//! from the start, and setguard answers such a call with a warning. If the warning is in the API
//! server's response, then name, route, firewall, certificate and CA are right.
//!
//! Only the annotation says which rules there are: replicas of two releases at one time do not argue.
//! Rules are never taken away. Whoever deletes a configuration, or sets its `failurePolicy`, has the
//! last word.

mod args;
pub(crate) mod entries;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::http::{Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use json_patch::Patch as JsonPatch;
use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    core::v1::Namespace,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch},
    client::Body,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::sleep};

pub use self::args::ArmingArgs;
use super::{
    app::{App, Phase},
    configuration::Configuration,
    managed::cluster::{self, CallError, call, patch_params, watch},
};
use crate::admission::{Endpoint, rehearsal};

/// The wait after a round that failed: at first, and at most. It doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How many times in a row the API server has to call setguard, and the pause between. Each is over
/// a new connection, so several API servers behind one address take turns.
const REHEARSALS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// How much of an error is read.
const LONGEST_ERROR: usize = 16 << 10;

/// Helm writes this annotation on what it installs, and `helm template` does not. Helm deletes what
/// it has installed whoever owns it. Some tools that apply a rendered chart do not delete objects
/// with an owner, which here would leave webhooks without a server.
const INSTALLED_BY_HELM: &str = "meta.helm.sh/release-name";

/// Arms the webhook configurations with a name.
pub(crate) struct Arming {
    app: Arc<App>,
    name: String,
    owner: Option<String>,
    interval: Duration,
    client: Client,
    /// The wait after the next round that fails.
    wait: Duration,
    /// The last problem, so that the log has it once.
    problem: Option<String>,
}

/// Starts a task that runs until the server shuts down, if the flags ask for it.
///
/// # Errors
/// If there is neither a kubeconfig nor a service account.
pub(crate) async fn start(app: Arc<App>, args: &ArmingArgs) -> anyhow::Result<()> {
    let Some(name) = args.arm_webhooks.clone() else { return Ok(()) };
    let client = cluster::client().await.context(
        "--arm-webhooks: cannot find the API server: neither a kubeconfig nor a service account can \
         be used",
    )?;
    let (owner, interval) = (args.arm_owner.clone(), args.arm_check_interval);
    let arming = Arming { app, name, owner, interval, client, wait: FIRST_WAIT, problem: None };
    tokio::spawn(arming.run());
    Ok(())
}

/// A configuration that lacks rules, and the patch with them.
struct Unarmed {
    configuration: Configuration,
    rules: JsonPatch,
}

impl Arming {
    async fn run(mut self) {
        let changed = Notify::new();
        let (client, name) = (self.client.clone(), self.name.clone());
        let watch = async {
            let [validating, mutating] = Configuration::ALL.map(|kind| api(&client, kind));
            tokio::join!(watch(validating, &name, &changed), watch(mutating, &name, &changed));
        };
        let keep = async {
            // A server that shuts down arms nothing: it may be the last one.
            while self.app.phase() != Phase::Draining {
                let wait = self.round().await;
                tokio::select! {
                    () = sleep(wait) => {}
                    () = changed.notified() => {}
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = watch => {}
            () = keep => {}
        }
    }

    /// Checks both configurations and writes what is missing. Returns when to check again.
    async fn round(&mut self) -> Duration {
        let problem = match self.arm().await {
            Ok(true) => {
                self.wait = FIRST_WAIT;
                let owned = self.own().await;
                self.report(owned.err());
                return self.interval;
            }
            // The rules have just been written, here or by another replica.
            Ok(false) | Err(Problem::Call(CallError::Conflict(_))) => return PAUSE,
            Err(problem) => problem,
        };
        self.report(Some(problem));
        let wait = self.wait;
        self.wait = (wait * 2).min(LONGEST_WAIT);
        wait
    }

    /// Logs a problem, once.
    fn report(&mut self, problem: Option<Problem>) {
        let problem = problem.map(|problem| problem.to_string());
        if let Some(problem) = problem.as_ref().filter(|it| self.problem.as_ref() != Some(*it)) {
            tracing::warn!(problem, "the webhook configurations are not as they should be yet");
        }
        self.problem = problem;
    }

    async fn read(&self, configuration: Configuration) -> Result<Option<Value>, Problem> {
        let what = format!("reading {} {}", configuration.kind(), self.name);
        let read = call(what, api(&self.client, configuration).get_opt(&self.name)).await?;
        Ok(read.and_then(|read| serde_json::to_value(read).ok()))
    }

    /// Writes the rules that are missing, if the API server can call setguard. Returns whether none
    /// were.
    async fn arm(&self) -> Result<bool, Problem> {
        let mut unarmed = Vec::new();
        for configuration in Configuration::ALL {
            let armed = &self.app.metrics.armed;
            let Some(read) = self.read(configuration).await? else {
                armed.set(configuration, false);
                continue;
            };
            let rules = entries::patch(&read).map_err(Problem::Annotation)?;
            armed.set(configuration, rules.is_none() && entries::have_rules(&read));
            unarmed.extend(rules.map(|rules| Unarmed { configuration, rules }));
        }
        if unarmed.is_empty() {
            return Ok(true);
        }
        // Calls would fail, or go to a replica that has only just been started.
        if let Some(why) = self.app.waiting() {
            return Err(Problem::NotCalled(why.to_string()));
        }
        for _ in 0..REHEARSALS {
            let called = self.rehearse().await?;
            if !unarmed.iter().all(|it| called.contains(&it.configuration)) {
                let why = "the API server has not seen the webhook configurations yet";
                return Err(Problem::NotCalled(why.to_owned()));
            }
            sleep(PAUSE).await;
        }
        for Unarmed { configuration, rules } in unarmed {
            let kind = configuration.kind();
            let patch = Patch::<()>::Json(rules);
            let api = api(&self.client, configuration);
            let what = format!("writing {kind} {}", self.name);
            call(what, api.patch(&self.name, &patch_params(), &patch)).await?;
            tracing::info!(kind, "the API server can call setguard: the rules were written");
        }
        // The next round sees whether they are there.
        Ok(false)
    }

    /// Lets the API server call setguard once. Returns the configurations by which it did.
    async fn rehearse(&self) -> Result<Vec<Configuration>, Problem> {
        // A new client has no open connections.
        let client = cluster::client().await.map_err(|it| Problem::NotCalled(format!("{it:#}")))?;
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "SelfSubjectReview",
        });
        let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(review.to_string().into_bytes()))
            .map_err(|error| Problem::NotCalled(error.to_string()))?;
        let response = call("rehearsing a call".to_owned(), client.send(request)).await?;
        if !response.status().is_success() {
            return Err(Problem::NotCalled(message(response).await));
        }
        let warnings: Vec<_> = response.headers().get_all(header::WARNING).iter().collect();
        let has = |endpoint| {
            let text = rehearsal(endpoint);
            warnings.iter().any(|it| it.to_str().is_ok_and(|it| it.contains(&text)))
        };
        let called = |configuration: &Configuration| match configuration {
            Configuration::Validating => has(Endpoint::Validate),
            Configuration::Mutating => has(Endpoint::Mutate),
        };
        Ok(Configuration::ALL.into_iter().filter(called).collect())
    }

    /// Lets the Namespace own each configuration that Helm installed and nobody owns.
    async fn own(&self) -> Result<(), Problem> {
        let Some(owner) = &self.owner else { return Ok(()) };
        for configuration in Configuration::ALL {
            let Some(read) = self.read(configuration).await? else { continue };
            let metadata = &read["metadata"];
            if metadata["annotations"][INSTALLED_BY_HELM].is_null()
                || metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty())
            {
                continue;
            }
            let namespaces: Api<Namespace> = Api::all(self.client.clone());
            let what = format!("reading Namespace {owner}");
            let namespace = call(what, namespaces.get(owner)).await?;
            let patch = Patch::Merge(json!({
                "metadata": {
                    "resourceVersion": metadata["resourceVersion"],
                    "ownerReferences": [{
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "name": owner,
                        "uid": namespace.metadata.uid,
                    }],
                },
            }));
            let kind = configuration.kind();
            let what = format!("making Namespace {owner} the owner of {kind} {}", self.name);
            let api = api(&self.client, configuration);
            match call(what, api.patch(&self.name, &patch_params(), &patch)).await {
                // Another replica was faster.
                Ok(_) | Err(CallError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Why the configurations are not armed.
#[derive(Debug, thiserror::Error)]
enum Problem {
    /// A call of the API server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The API server does not call setguard, or its call fails.
    #[error("{0}")]
    NotCalled(String),
    /// The annotation cannot be read.
    #[error("{0}")]
    Annotation(String),
}

fn api(client: &Client, configuration: Configuration) -> Api<DynamicObject> {
    let resource = match configuration {
        Configuration::Validating => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
        Configuration::Mutating => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
    };
    Api::all_with(client.clone(), &resource)
}

/// The message of a Status, in which the API server says why its call failed.
async fn message(response: Response<Body>) -> String {
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST_ERROR).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    body["message"].as_str().map_or_else(|| status.to_string(), str::to_owned)
}
