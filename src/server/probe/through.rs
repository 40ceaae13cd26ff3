//! A faulty DaemonSet, sent to the API server like any user's: setguard has to refuse it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use axum::http::{Request, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::server::managed::cluster::{self, call};

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of bytes that are read of an answer.
const LONGEST_ANSWER: usize = 64 << 10;
/// The text that each denial by setguard contains.
const SETGUARD: &str = "(setguard: ";

/// Asks the API server to create a faulty DaemonSet, with dryRun, until setguard refuses it or
/// warns about it. Retries for `patience`.
///
/// # Errors
/// Returns an error if setguard reports nothing.
pub(super) async fn refused(namespace: &str, patience: Duration) -> anyhow::Result<()> {
    let client = cluster::client().await.context("--namespace: cannot find the API server")?;
    let begun = Instant::now();
    loop {
        let why = match attempt(&client, namespace).await {
            Ok(()) => return Ok(()),
            Err(why) => why,
        };
        if begun.elapsed() >= patience {
            bail!("{why}");
        }
        sleep(PAUSE).await;
    }
}

async fn attempt(client: &kube::Client, namespace: &str) -> anyhow::Result<()> {
    let path = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets?dryRun=All");
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(faulty().to_string().into_bytes()))?;
    let what = format!("a dry-run creation of a DaemonSet in namespace {namespace}");
    let response = call(what.clone(), client.send(request)).await?;
    let status = response.status();
    let warnings = response.headers().get_all(header::WARNING);
    let warnings: Vec<_> = warnings.iter().filter_map(|it| it.to_str().ok()).collect();
    if warnings.iter().any(|it| RULES.iter().any(|rule| names(it, rule))) {
        return Ok(());
    }
    let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = body["message"].as_str().unwrap_or_default();
    if message.contains(SETGUARD) {
        return Ok(());
    }
    if status.is_success() {
        bail!(
            "the API server accepts a faulty DaemonSet in namespace {namespace}, and setguard neither \
             refuses it nor warns of it. Either the webhooks have no rules yet (the log of setguard \
             says why), or they and the admission policies do not select this namespace (choose \
             another one), or the policy turns the rules {} off",
            RULES.join(" and ")
        );
    }
    bail!("{what}: {status}: {message}")
}

/// Returns whether a warning is about a rule: a warning by setguard begins with the id, and one by a policy
/// contains it.
fn names(warning: &str, rule: &str) -> bool {
    warning.contains(&format!("\"{rule}: ")) || warning.contains(&format!("{SETGUARD}{rule}, "))
}

/// The rules that the DaemonSet violates.
const RULES: [&str; 2] = ["name-too-long", "selector-on-managed-labels"];

/// A DaemonSet that the API server accepts, and that no other policy has a reason to refuse. It has
/// two faults, for policies that turn one of the rules off.
fn faulty() -> Value {
    let labels = json!({ "app": "setguard-probe", "controller-revision-hash": "probe" });
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": format!("setguard-probe-{}", "x".repeat(230)) },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "automountServiceAccountToken": false,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "seccompProfile": { "type": "RuntimeDefault" },
                    },
                    "containers": [{
                        "name": "main",
                        "image": "registry.example/probe:1",
                        "resources": {
                            "requests": { "cpu": "1m", "memory": "1Mi" },
                            "limits": { "cpu": "1m", "memory": "1Mi" },
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": { "drop": ["ALL"] },
                        },
                    }],
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        admission::{self, Endpoint},
        engine::Context,
        policy::Policy,
    };

    #[test]
    fn the_faulty_daemon_set_violates_the_rules_that_are_named() {
        let mut object = faulty();
        object["metadata"]["namespace"] = json!("default");
        let group = json!({ "group": "apps", "version": "v1", "kind": "DaemonSet" });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": { "uid": "1", "kind": group, "operation": "CREATE", "object": object },
        });
        let (policy, today) = (Policy::default(), jiff::civil::date(2026, 1, 1));
        let body = review.to_string().into_bytes();
        let cx = Context::of_review(&policy, today);
        let answer = admission::answer(Endpoint::Validate, &body, &cx).unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        for rule in RULES {
            assert!(text.contains(&format!("{SETGUARD}{rule})")), "{text}");
        }
    }
}
