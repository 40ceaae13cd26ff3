//! Simulates the API server: calls the webhooks in its order, and applies their answers.

use setguard_core::admission::Endpoint;
use setguard_core::{
    inject::pod::PartialPod,
    kubernetes::resource::WorkloadKind,
    object::{DecodeError, Object, Subject},
    words,
};

use super::{
    daemon_pod,
    manifests::{Given, What},
    review::Asking,
    webhook::{Call, Webhook},
};
use crate::cli::prelude::*;

#[derive(Debug)]
pub(super) struct ApiServer {
    pub(super) webhook: Webhook,
    pub(super) policy: Policy,
    /// The namespaces that request the control-plane tolerations.
    pub(super) namespaces: Namespaces,
    pub(super) user: String,
    pub(super) now: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct ObjectResult {
    kind: &'static str,
    /// The resource as kubectl writes it: `daemonset.apps`.
    resource: String,
    name: String,
    warnings: Vec<String>,
    denial: Option<Denial>,
    /// Tolerations and the node pin.
    injected: Vec<String>,
    /// The injections into the pod of a DaemonSet.
    into_pod: Vec<String>,
    pub(super) calls: Vec<Call>,
}

#[derive(Debug)]
struct Denial {
    by: By,
    causes: Vec<String>,
}

words! {
    #[derive(Clone, Copy, Debug)]
    enum By {
        /// The API server, because the object does not fit its type.
        Decoder => "by the API server, which cannot read it",
        /// The API server's own validation.
        ApiServer => "by the API server, so the validating webhook is not called",
        Setguard => "by setguard",
        /// The API server, because the webhook gives no valid answer and `failurePolicy` is `Fail`.
        FailurePolicy => "by the API server, because the webhook gives no valid answer",
    }
}

impl ApiServer {
    pub(super) async fn create(&mut self, given: &Given) -> anyhow::Result<ObjectResult> {
        let mut object: Value = serde_json::from_str(&given.json)?;
        let namespace = object["metadata"]["namespace"].as_str().filter(|it| !it.is_empty());
        let namespace = namespace.unwrap_or("default").to_owned();
        if object["metadata"].is_object() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let mut result = ObjectResult::of(given.what, &object);
        if !given.problems.is_empty() {
            let causes = given.problems.iter().map(|it| format!("{}: {}", it.field, it.message));
            result.denial = Some(Denial { by: By::Decoder, causes: causes.collect() });
            return Ok(result);
        }
        match given.what {
            What::Pod => {
                if let Err(error @ DecodeError::Json { .. }) = PartialPod::parse(&given.json) {
                    let causes = vec![error.to_string()];
                    result.denial = Some(Denial { by: By::Decoder, causes });
                    return Ok(result);
                }
                let asking = Asking { resource: None, user: &self.user };
                let call = self.webhook.call(Endpoint::Mutate, asking, &object).await?;
                result.injected = result.mutated(call, &mut object)?;
            }
            What::Set(resource) => {
                self.create_set(resource, &namespace, object, &mut result).await?;
            }
        }
        Ok(result)
    }

    async fn create_set(
        &mut self,
        resource: &'static Resource,
        namespace: &str,
        mut object: Value,
        result: &mut ObjectResult,
    ) -> anyhow::Result<()> {
        let asking = Asking { resource: Some(resource), user: "kubernetes-admin" };
        let is_daemon = resource.kind == WorkloadKind::DaemonSet;
        let endpoints = [
            Some(Endpoint::Mutate),
            (is_daemon && self.namespaces.contains(namespace))
                .then_some(Endpoint::MutateControlPlane),
        ];
        for endpoint in endpoints.into_iter().flatten() {
            let call = self.webhook.call(endpoint, asking, &object).await?;
            let injected = result.mutated(call, &mut object)?;
            result.injected.extend(injected);
        }
        if result.denial.is_none() {
            let causes = self.validate(resource, &object);
            if !causes.is_empty() {
                result.denial = Some(Denial { by: By::ApiServer, causes });
            }
        }
        if result.denial.is_some() {
            return Ok(());
        }
        let call = self.webhook.call(Endpoint::Validate, asking, &object).await?;
        result.heard(call);
        if is_daemon
            && result.denial.is_none()
            && let Some(mut pod) = daemon_pod::of(&object)
        {
            let asking = Asking { resource: None, user: daemon_pod::CONTROLLER };
            let call = self.webhook.call(Endpoint::Mutate, asking, &pod).await?;
            result.into_pod = result.mutated(call, &mut pod)?;
        }
        Ok(())
    }

    fn validate(&self, resource: &'static Resource, object: &Value) -> Vec<String> {
        let json = object.to_string();
        let object = match Object::parse(resource, &json) {
            Ok(object) => object,
            Err(error) => return vec![error.to_string()],
        };
        let context = Context::of_command(&self.policy, Origin::Manifest, self.now);
        let verdict = engine::evaluate(&Subject::create(object), &context);
        let findings = verdict.refusals().map(|violation| &violation.finding);
        findings.map(|finding| format!("{}: {}", finding.field, finding.message)).collect()
    }
}

impl ObjectResult {
    fn of(what: What, object: &Value) -> ObjectResult {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().or(metadata["generateName"].as_str());
        let name = name.unwrap_or_default();
        let (kind, resource) = match what {
            What::Set(it) => {
                (it.kind.as_str(), format!("{}.{}", it.kind.as_str().to_lowercase(), it.group))
            }
            What::Pod => ("Pod", "pod".to_owned()),
        };
        ObjectResult { kind, resource, name: name.to_owned(), ..ObjectResult::default() }
    }

    pub(super) const fn is_created(&self) -> bool {
        self.denial.is_none()
    }

    fn heard(&mut self, call: Call) {
        match &call.answer {
            Ok(answer) => {
                self.warnings.extend(answer.warnings.iter().cloned());
                if !answer.allowed {
                    self.denial = Some(Denial { by: By::Setguard, causes: answer.causes() });
                }
            }
            Err(why) => {
                let causes = vec![why.clone()];
                self.denial = Some(Denial { by: By::FailurePolicy, causes });
            }
        }
        self.calls.push(call);
    }

    /// Applies the patch, and describes the additions.
    fn mutated(&mut self, call: Call, object: &mut Value) -> anyhow::Result<Vec<String>> {
        let before = object.clone();
        let operations = call.answer.as_ref().map_or(Ok(0), |answer| answer.patch(object))?;
        self.heard(call);
        Ok(if operations == 0 { Vec::new() } else { added(&before, object) })
    }

    /// Prints the result as kubectl would, with details that kubectl does not show.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let ObjectResult { kind, resource, name, .. } = self;
        for warning in &self.warnings {
            writeln!(out, "  Warning: {warning}")?;
        }
        match &self.denial {
            None => writeln!(out, "  {resource}/{name} created")?,
            Some(Denial { by, causes }) => {
                let server = "Error from server";
                match by {
                    By::Decoder => write!(out, "  {server} (BadRequest): strict decoding error:")?,
                    By::FailurePolicy => {
                        write!(out, "  {server} (InternalError): failed calling webhook:")?;
                    }
                    By::ApiServer | By::Setguard => {
                        write!(out, "  The {kind} \"{name}\" is invalid:")?;
                    }
                }
                match causes.as_slice() {
                    [one] => writeln!(out, " {one}")?,
                    several => {
                        writeln!(out)?;
                        several.iter().try_for_each(|cause| writeln!(out, "  * {cause}"))?;
                    }
                }
                writeln!(out, "    refused {}", by.as_str())?;
            }
        }
        if !self.injected.is_empty() {
            writeln!(out, "    injected: {}", self.injected.join(", "))?;
        }
        if !self.into_pod.is_empty() {
            writeln!(out, "    injected into its pods: {}", self.into_pod.join(", "))?;
        }
        if !self.calls.is_empty() {
            let calls: Vec<_> = self.calls.iter().map(|it| it.endpoint.path()).collect();
            writeln!(out, "    called: {}", calls.join(", "))?;
        }
        Ok(())
    }
}

fn added(before: &Value, after: &Value) -> Vec<String> {
    fn spec(object: &Value) -> &Value {
        match &object["spec"]["template"]["spec"] {
            Value::Null => &object["spec"],
            template => template,
        }
    }
    let (before, after) = (spec(before), spec(after));
    let list = |spec: &Value| spec["tolerations"].as_array().cloned().unwrap_or_default();
    let had = list(before);
    let new = list(after).into_iter().filter(|it| !had.contains(it));
    let mut added: Vec<_> = new
        .map(|it| {
            let text = |key| it[key].as_str().unwrap_or_default();
            format!("toleration {}:{}", text("key"), text("effect"))
        })
        .collect();
    if before["affinity"] != after["affinity"] {
        added.push("pin to one node".to_owned());
    }
    added
}
