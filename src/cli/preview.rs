//! `setguard inject`: prints objects as they would be stored after injection.

use std::io::{self, Write};

use json_patch::Patch;
use serde_json::Value;

use crate::{
    admission::response,
    inject::{self, Injection, pod::Pod},
    kubernetes::resource::Resource,
    manifests::namespaces::Namespaces,
    object::{Object, Str, User},
    policy::Policy,
    yaml::{self, Problem},
};

/// What became of a stream of documents.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Objects that something was injected into.
    pub injected: usize,
    /// Objects that would be refused.
    pub denied: usize,
    /// Documents that could not be read.
    pub problems: Vec<Problem>,
}

/// Prints every document of a stream as YAML, injected as if this user had created it, and as if
/// these namespaces asked for the control plane. Denials and warnings go to `notes`.
///
/// # Errors
/// When `out` or `notes` cannot be written.
pub fn run(
    text: &str,
    user: &str,
    policy: &Policy,
    namespaces: &Namespaces,
    out: &mut impl Write,
    notes: &mut impl Write,
) -> io::Result<Outcome> {
    let user = User { username: Str(user.into()), groups: Some(groups(user)) };
    let mut outcome = Outcome::default();
    let mut objects: Vec<Value> = Vec::new();
    for document in yaml::parse(text) {
        match document.map(|document| serde_json::from_str(&document.root.to_json())) {
            Ok(Ok(Value::Null) | Err(_)) => {}
            Ok(Ok(object)) => objects.push(object),
            Err(problem) => outcome.problems.push(problem),
        }
    }
    for (i, mut object) in objects.into_iter().enumerate() {
        for object in items(&mut object) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let Some(injection) = injection(object, &user, policy, namespaces) else {
                continue;
            };
            let verdict = injection.verdict(policy);
            for judged in verdict.denials().chain(verdict.warnings()) {
                let warning = response::warning(&judged.finding);
                writeln!(notes, "{name}: {}: {warning}", judged.mode)?;
            }
            if !verdict.allowed() {
                outcome.denied += 1;
            } else if !injection.patch.is_empty() {
                outcome.injected += 1;
                json_patch::patch(object, &Patch(injection.patch)).map_err(io::Error::other)?;
            }
        }
        if i > 0 {
            out.write_all(b"---\n")?;
        }
        out.write_all(serde_saphyr::to_string(&object).map_err(io::Error::other)?.as_bytes())?;
    }
    Ok(outcome)
}

/// The objects of a `List`, or the one object.
fn items(object: &mut Value) -> Vec<&mut Value> {
    let is_list = object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if is_list && object["items"].is_array() {
        object["items"].as_array_mut().map(|items| items.iter_mut().collect()).unwrap_or_default()
    } else {
        vec![object]
    }
}

/// The groups that the API server puts every user, and every service account, into.
///
/// Kubernetes: `MakeGroupNames`, staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go.
fn groups(user: &str) -> Vec<Str<'static>> {
    let mut groups = vec![Str("system:authenticated".into())];
    let account = user.strip_prefix("system:serviceaccount:");
    if let Some((namespace, _)) = account.and_then(|account| account.split_once(':')) {
        groups.push(Str("system:serviceaccounts".into()));
        groups.push(Str(format!("system:serviceaccounts:{namespace}").into()));
    }
    groups
}

fn injection(
    object: &Value,
    user: &User<'_>,
    policy: &Policy,
    namespaces: &Namespaces,
) -> Option<Injection> {
    let kind = object["kind"].as_str()?;
    let api_version = object["apiVersion"].as_str()?;
    let json = object.to_string();
    if (api_version, kind) == ("v1", "Pod") {
        return Pod::parse(&json).ok().map(|pod| inject::pod(&pod, user, &policy.injection));
    }
    let parsed = Object::parse(Resource::of(api_version, kind)?, &json).ok()?;
    let namespace = parsed.metadata.namespace.as_deref().unwrap_or("default");
    Some(inject::template(&parsed, namespaces.ask(namespace), &policy.injection))
}
