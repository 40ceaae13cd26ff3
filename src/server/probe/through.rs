//! Sends dry-run writes to the API server, as any user might. setguard has to answer each of them.

use std::io::Write as _;

use setguard_core::{
    kubernetes::resource::WorkloadKind,
    object::annotations::{CONTROL_PLANE_LABEL, NODE_ANNOTATION},
};

use super::{ProbeArgs, armed::retry};
use crate::server::managed::cluster::{self, Answer, send};
use crate::server::prelude::*;

/// Each denial by setguard contains this text.
const SETGUARD: &str = "(setguard: ";
/// The name of each webhook of setguard ends with this.
pub(super) const SUFFIX: &str = ".setguard.io";
/// The chart's names for its validating webhooks.
const CREATED: &str = "create.validate.setguard.io";
const CHANGED: &str = "validate.setguard.io";
/// Only the webhook itself can refuse a violation of this rule: no policy in the cluster enforces it.
const NEVER: &str = "pod-never-created";
/// The rules that the faulty DaemonSet violates. The webhook or a policy has to refuse it.
const RULES: [&str; 2] = ["name-too-long", "selector-on-managed-labels"];

/// Without `webhooks`, the policies in the cluster have to answer. Prints what is not proven.
pub(super) async fn refused(
    namespace: &str,
    webhooks: &BTreeSet<String>,
    args: &ProbeArgs,
) -> anyhow::Result<()> {
    let client = cluster::client().await.context("--namespace: cannot find the API server")?;
    let validates = args.validating_config.is_some();
    let policies_inject = !webhooks.is_empty() && policies_inject(&client).await?;
    let is_warning_enough = args.warned;
    let prover =
        Prover { client, namespace, webhooks, validates, policies_inject, is_warning_enough };
    let proven = retry(args.wait, async || prover.prove().await).await?;
    if webhooks.is_empty() {
        writeln!(
            std::io::stdout(),
            "in namespace {namespace} a policy answers; only {} were tried. To compare all policies and bindings of \
             the chart: helm get manifest RELEASE | kubectl diff --server-side --force-conflicts -f -",
            RULES.join(" and ")
        )?;
    }
    say(&proven, webhooks, namespace)
}

fn say(
    proven: &BTreeSet<String>,
    webhooks: &BTreeSet<String>,
    namespace: &str,
) -> anyhow::Result<()> {
    let is_open = |it: &&String| !proven.contains(*it) && !it.starts_with("rehearsal.");
    let open: Vec<_> = webhooks.iter().filter(is_open).map(String::as_str).collect();
    if !open.is_empty() {
        let open = open.join(", ");
        writeln!(
            std::io::stdout(),
            "not proven in namespace {namespace}: {open}. They do not apply to it, or it has no DaemonSet and no \
             StatefulSet to change, or policies may inject the same; writes to scale are never tried"
        )?;
    }
    Ok(())
}

struct Prover<'a> {
    client: Client,
    namespace: &'a str,
    webhooks: &'a BTreeSet<String>,
    /// Whether faulty writes have to be refused, whatever the configuration says: somebody may have removed the webhooks
    /// from it and from its annotation.
    validates: bool,
    policies_inject: bool,
    is_warning_enough: bool,
}

/// Returns whether policies may inject the same as a webhook. What is injected then proves no webhook.
async fn policies_inject(client: &Client) -> anyhow::Result<bool> {
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    let answer = send(client, "a list of policies", Method::GET, path, &Value::Null).await?;
    let policies = answer.body["items"].as_array();
    let is_ours =
        |it: &Value| it["metadata"]["name"].as_str().is_some_and(|it| it.ends_with(SUFFIX));
    let is_absent = answer.status == StatusCode::NOT_FOUND;
    Ok(!is_absent && policies.is_none_or(|it| it.iter().any(is_ours)))
}

struct Ask<'a> {
    what: String,
    method: Method,
    path: String,
    body: Value,
    sign: Sign<'a>,
}

/// How an answer shows that setguard has seen a write.
enum Sign<'a> {
    /// A denial by a policy.
    Refused,
    /// A denial by the webhook of this name, or by the one for system namespaces, or a warning.
    RefusedBy(&'a str),
    /// A warning of this rule, by the webhook of this name.
    Warned(&'static str, &'a str),
    /// Tolerations that the webhook of this name adds.
    Tolerated(&'a str),
}

impl<'a> Prover<'a> {
    /// Returns the webhooks that were called.
    async fn prove(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut proven = BTreeSet::new();
        if self.webhooks.is_empty() {
            let path = self.path(&RESOURCES[0], "");
            let what = "a faulty DaemonSet".to_owned();
            let ask = Ask { what, method: Method::POST, path, body: faulty(), sign: Sign::Refused };
            self.ask(&ask).await?;
            return Ok(proven);
        }
        for resource in RESOURCES {
            // The cluster may have no OpenKruise.
            let Some(existing) = self.existing(resource).await? else { continue };
            for ask in self.asks(resource, existing.as_deref()) {
                proven.extend(self.ask(&ask).await?);
            }
        }
        for ask in self.injections().await {
            proven.extend(self.ask(&ask).await?);
        }
        Ok(proven)
    }

    fn webhook(&self, role: &str) -> Option<&'a str> {
        self.webhooks.iter().find(|it| plays(it, role)).map(String::as_str)
    }

    fn path(&self, resource: &Resource, name: &str) -> String {
        let Resource { group, version, plural, .. } = resource;
        let namespace = self.namespace;
        format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}{name}?dryRun=All")
    }

    /// Returns the name of a set in the namespace, if there is one; `None` if the cluster does not have the resource. The
    /// API server calls no webhook for a set that is being deleted.
    async fn existing(&self, resource: &Resource) -> anyhow::Result<Option<Option<String>>> {
        let path = self.path(resource, "").replace("dryRun=All", "limit=100");
        let what = format!("a list of {} in namespace {}", resource.plural, self.namespace);
        let answer = send(&self.client, &what, Method::GET, &path, &Value::Null).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !answer.status.is_success() {
            bail!("{what}: {}: {}", answer.status, answer.message());
        }
        let mut sets = answer.body["items"].as_array().into_iter().flatten();
        let set = sets.find(|it| it["metadata"].get("deletionTimestamp").is_none());
        Ok(Some(set.and_then(|it| it["metadata"]["name"].as_str()).map(str::to_owned)))
    }

    /// One write for each operation and webhook.
    fn asks(&self, resource: &Resource, existing: Option<&str>) -> Vec<Ask<'a>> {
        let kind = resource.kind;
        let mut faulty = good(resource);
        faulty["spec"]["template"]["metadata"]["finalizers"] = json!(["setguard-probe"]);
        let ask = |verb: &str, method, path, body, sign| Ask {
            what: format!("{verb} {}/{} {kind}", resource.group, resource.version),
            method,
            path,
            body,
            sign,
        };
        let mut asks = Vec::new();
        let new = self.path(resource, "");
        if self.validates {
            let sign = Sign::RefusedBy(self.webhook("create.validate").unwrap_or(CREATED));
            asks.push(ask("a faulty new", Method::POST, new.clone(), faulty, sign));
        }
        if let Some(by) = self.webhook("labelled.mutate")
            && kind == WorkloadKind::DaemonSet
        {
            let mut labelled = good(resource);
            labelled["metadata"]["labels"] = json!({ CONTROL_PLANE_LABEL: "true" });
            let sign = Sign::Tolerated(by);
            asks.push(ask("a labelled new", Method::POST, new, labelled, sign));
        }
        let Some(existing) = existing else { return asks };
        let path = self.path(resource, &format!("/{existing}"));
        if self.validates {
            let fault = json!({ "metadata": { "finalizers": ["setguard-probe"] } });
            let patch = json!({ "spec": { "template": fault } });
            let sign = Sign::RefusedBy(self.webhook("validate").unwrap_or(CHANGED));
            asks.push(ask("a faulty change of a", Method::PATCH, path.clone(), patch, sign));
        }
        if let Some(by) = self.webhook("workloads.mutate")
            && resource.group == "apps"
        {
            let labels = json!({ "matchLabels": { "setguard": "probe" } });
            let patch = json!({ "spec": { "selector": labels } });
            let sign = Sign::Warned("immutable-field", by);
            asks.push(ask("a change of the selector of a", Method::PATCH, path, patch, sign));
        }
        asks
    }

    /// The writes that setguard injects into, apart from the writes of [`Self::asks`].
    async fn injections(&self) -> Vec<Ask<'a>> {
        let mut asks = Vec::new();
        if let Some(by) = self.webhook("pods.mutate") {
            let mut pod = good(&RESOURCES[0])["spec"]["template"].take();
            (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
            pod["metadata"] = json!({
                "generateName": "setguard-probe-", "annotations": { NODE_ANNOTATION: "none" },
            });
            let namespace = self.namespace;
            asks.push(Ask {
                what: "a new Pod for a node".to_owned(),
                method: Method::POST,
                path: format!("/api/v1/namespaces/{namespace}/pods?dryRun=All"),
                body: pod,
                sign: Sign::Warned("unpaired-node-annotation", by),
            });
        }
        let Some(by) = self.webhook("control-plane.mutate") else { return asks };
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        let what = "reading the namespace";
        let read = send(&self.client, what, Method::GET, &path, &Value::Null).await;
        let is_labelled =
            read.is_ok_and(|it| it.body["metadata"]["labels"][CONTROL_PLANE_LABEL] == "true");
        if is_labelled {
            asks.push(Ask {
                what: "a new apps/v1 DaemonSet".to_owned(),
                method: Method::POST,
                path: self.path(&RESOURCES[0], ""),
                body: good(&RESOURCES[0]),
                sign: Sign::Tolerated(by),
            });
        }
        asks
    }

    /// Returns the webhook that has answered the write.
    async fn ask(&self, ask: &Ask<'_>) -> anyhow::Result<Option<String>> {
        let Ask { what, method, path, body, sign } = ask;
        let namespace = self.namespace;
        let what = format!("{what} in namespace {namespace}, sent with dryRun");
        let answer = send(&self.client, &what, method.clone(), path, body).await?;
        let by = |name: &str| Ok(Some(name.to_owned()));
        match sign {
            Sign::Refused => {
                let message = answer.message();
                let is_warned = RULES.iter().any(|rule| warns(&answer, rule));
                if message.contains(SETGUARD) || (self.is_warning_enough && is_warned) {
                    return Ok(None);
                }
            }
            Sign::RefusedBy(name) => {
                if let Some(name) = refused_by(&answer.message()) {
                    if !self.webhooks.contains(name) {
                        bail!(
                            "{what}: webhook {name} of another release has refused it first; choose a namespace that \
                             only one of them selects"
                        );
                    }
                    return by(name);
                }
                if warns(&answer, NEVER) {
                    return by(name);
                }
            }
            Sign::Warned(rule, name) => {
                if warns(&answer, rule) || (!self.policies_inject && has_tolerations(&answer)) {
                    return by(name);
                }
            }
            Sign::Tolerated(name) => {
                if has_tolerations(&answer) {
                    return Ok((!self.policies_inject).then(|| (*name).to_owned()));
                }
            }
        }
        Err(sign.missed(&what, &answer))
    }
}

impl Sign<'_> {
    fn missed(&self, what: &str, answer: &Answer) -> anyhow::Error {
        let (status, message) = (answer.status, answer.message());
        if !status.is_success() && !matches!(self, Sign::Warned(..)) {
            return anyhow!("{what}: {status}: {message}");
        }
        let (name, rules) = match self {
            Sign::Refused => {
                return anyhow!(
                    "{what}: the API server answers {status}, and no policy refuses it. Either somebody has changed the \
                     policies or their bindings (https://setguard.io/admission-policies.html#keep-an-export-up-to-date has \
                     the command that compares them), or they do not select this \
                     namespace (choose another one), or rules {} do not deny",
                    RULES.join(" and ")
                );
            }
            Sign::RefusedBy(name) => (format!("webhook {name}"), format!("rule {NEVER}")),
            Sign::Warned(rule, name) => (format!("webhook {name}"), format!("rule {rule}")),
            Sign::Tolerated(name) => (format!("webhook {name}"), "injection".to_owned()),
        };
        anyhow!(
            "{what}: the API server answers {status}, and setguard neither refuses it nor warns of it nor changes it. \
             Either {name} has no rules yet (the log of setguard says why), or somebody has changed it, or it does \
             not select this namespace (choose another one), or the policy turns off: {rules}. {message}"
        )
    }
}

/// setguard's warnings begin with the id of the rule; warnings of policies contain it.
fn warns(answer: &Answer, rule: &str) -> bool {
    let (own, policy) = (format!("\"{rule}: "), format!("{SETGUARD}{rule}, "));
    answer.warnings.iter().any(|it| it.contains(&own) || it.contains(&policy))
}

fn has_tolerations(answer: &Answer) -> bool {
    let spec = &answer.body["spec"];
    let tolerations = [&spec["template"]["spec"]["tolerations"], &spec["tolerations"]];
    // The API server gives each pod two, for nodes that are not ready.
    let is_ours =
        |it: &Value| it["key"].as_str().is_some_and(|it| !it.starts_with("node.kubernetes.io/"));
    tolerations.iter().filter_map(|it| it.as_array()).flatten().any(is_ours)
}

/// Returns whether this is the name of the webhook with this role. The name of a release may follow the role.
pub(super) fn plays(name: &str, role: &str) -> bool {
    name.strip_prefix(role).is_some_and(|it| it.starts_with('.') && it.ends_with(SUFFIX))
}

/// Returns `None` unless a webhook of setguard refused the write.
fn refused_by(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("admission webhook \"")?;
    let (name, rest) = rest.split_once("\" denied the request")?;
    (name.ends_with(SUFFIX) && rest.contains(SETGUARD)).then_some(name)
}

/// A set that the API server accepts, and that no other policy has a reason to refuse. No set has its name already.
pub(super) fn good(resource: &Resource) -> Value {
    let mut set: Value = serde_json::from_str(include_str!("set.json")).unwrap_or_default();
    set["apiVersion"] = json!(format!("{}/{}", resource.group, resource.version));
    set["kind"] = json!(resource.kind.as_str());
    if resource.kind == WorkloadKind::StatefulSet {
        set["spec"]["serviceName"] = json!("setguard-probe");
    }
    set
}

/// A DaemonSet with two faults, for policies that turn one of the rules off.
fn faulty() -> Value {
    let mut set = good(&RESOURCES[0]);
    let labels = json!({ "app": "setguard-probe", "controller-revision-hash": "probe" });
    set["metadata"]["name"] = json!(format!("setguard-probe-{}", "x".repeat(230)));
    set["spec"]["selector"]["matchLabels"] = labels.clone();
    set["spec"]["template"]["metadata"]["labels"] = labels;
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::probe::create_review;
    use setguard_core::admission::{self, Endpoint};
    use setguard_core::{engine::Context, policy::Policy};

    fn review(mut object: Value) -> String {
        object["metadata"]["namespace"] = json!("default");
        let resource = RESOURCES.iter().find(|it| object["kind"] == it.kind.as_str());
        let review = create_review(resource, "1", &json!({}), &object, false);
        let (policy, today) = (Policy::default(), jiff::civil::date(2026, 1, 1));
        let body = review.to_string().into_bytes();
        let cx = Context::of_review(&policy, today);
        let answer = admission::answer(Endpoint::Validate, &body, &cx).unwrap();
        String::from_utf8(answer.body).unwrap()
    }

    #[test]
    fn the_faulty_sets_violate_the_rules_that_are_named_and_the_good_ones_none() {
        let text = review(faulty());
        for rule in RULES {
            assert!(text.contains(&format!("{SETGUARD}{rule})")), "{text}");
        }
        for resource in &RESOURCES[..2] {
            assert!(!review(good(resource)).contains(SETGUARD));
            let mut set = good(resource);
            set["spec"]["template"]["metadata"]["finalizers"] = json!(["setguard-probe"]);
            assert!(review(set).contains(&format!("{SETGUARD}{NEVER})")));
        }
    }

    #[test]
    fn only_a_webhook_of_setguard_counts_as_the_one_that_refused() {
        let denied = |name: &str, why: &str| {
            format!("admission webhook \"{name}\" denied the request: {why}")
        };
        let ours = denied("system.validate.setguard.io", "no (setguard: pod-never-created)");
        assert_eq!(refused_by(&ours), Some("system.validate.setguard.io"));
        for other in [
            denied("policy.example.com", "no (setguard: pod-never-created)"),
            denied("validate.setguard.io", "another reason"),
            "failed calling webhook \"validate.setguard.io\"".to_owned(),
        ] {
            assert_eq!(refused_by(&other), None, "{other}");
        }
    }
}
