//! Changes of an object, compared with a real kube-apiserver and a real kubectl.
//!
//! The pairs of `tests/conformance/generation` and the cases of `tests/conformance/apply.jsonl`
//! were recorded with both in release 1.36.2; see `tests/conformance/README.md`.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use setguard::{
    engine,
    kubernetes::semantic,
    object::{Workload, schema},
    proposal::apply::{self, Delivery, Verb},
    rules::api_validation,
};

use crate::prelude::*;
use crate::support::{cluster_of_release, read as read_file, resource_of};

const SHOWN: usize = 20;

fn read(name: &str) -> String {
    read_file(&format!("tests/conformance/{name}"))
}

fn agree(mismatches: &[String], cases: usize) {
    let shown: Vec<_> = mismatches.iter().take(SHOWN).map(String::as_str).collect();
    let agreed = cases - mismatches.len();
    println!("{agreed} of {cases} agree");
    assert!(mismatches.is_empty(), "{agreed} of {cases} agree\n{}", shown.join("\n"));
}

fn same_spec(one: &Object<'_>, other: &Object<'_>) -> bool {
    match (&one.workload, &other.workload) {
        (Workload::DaemonSet(one), Workload::DaemonSet(other)) => {
            let (mut one, mut other) = (one.clone(), other.clone());
            (one.template, other.template) = <(PodTemplateSpec, PodTemplateSpec)>::default();
            semantic::equal(&*one, &*other)
        }
        (Workload::StatefulSet(one), Workload::StatefulSet(other)) => {
            let (mut one, mut other) = (one.clone(), other.clone());
            (one.template, other.template) = <(PodTemplateSpec, PodTemplateSpec)>::default();
            semantic::equal(&*one, &*other)
        }
        _ => panic!("two kinds"),
    }
}

fn refusals(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Findings::of(API_VALIDATION);
    api_validation::validate(subject, &cluster_of_release("1.36"), &mut found);
    found.into_vec().into_iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
}

#[derive(Deserialize)]
struct Pair {
    kind: String,
    /// A JSON pointer to the change in both objects.
    path: String,
    /// The value in the old object. `None` if the object lacks the field.
    #[serde(default, deserialize_with = "present")]
    old: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    new: Option<Value>,
    /// The server's verdict: `refused`, or the kind of change.
    verdict: String,
}

/// Distinguishes null from an absent field.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Pair {
    fn object(&self, base: &Value, value: Option<&Value>) -> Option<String> {
        let mut object = base.clone();
        let (parent, field) = self.path.rsplit_once('/').unwrap();
        let field = field.replace("~1", "/").replace("~0", "~");
        match (object.pointer_mut(parent).unwrap(), value) {
            (Value::Object(map), Some(value)) => drop(map.insert(field, value.clone())),
            (Value::Object(map), None) => drop(map.shift_remove(&field)),
            (parent, _) => panic!("{parent} has no fields"),
        }
        schema::normalize(&object.to_string(), resource_of(base))
    }

    fn found(&self, subject: &Subject<'_>, same_spec: bool, same_template: bool) -> &'static str {
        let is_immutable = |refusal: &String| {
            refusal.contains("immutable") || refusal.contains("fields other than")
        };
        // All pairs have the same selector, because a DaemonSet cannot change it.
        let can_be_refused = self.kind == "StatefulSet";
        match (same_spec, same_template) {
            _ if can_be_refused && refusals(subject).iter().any(is_immutable) => "refused",
            (true, true) => "same",
            (_, false) if self.kind == "DaemonSet" => "template",
            _ => "spec",
        }
    }
}

#[test]
fn what_changes_is_what_raises_the_generation() {
    let bases: BTreeMap<&str, Value> = ["DaemonSet", "StatefulSet"]
        .map(|kind| {
            (kind, serde_json::from_str(&read(&format!("generation/{kind}.json"))).unwrap())
        })
        .into();
    let mut policy = Policy::default();
    policy.cluster = cluster_of_release("1.36");
    let cx = Context::of_review(&policy, date(2026, 1, 1));
    let pairs = read("generation/pairs.jsonl");
    let mut mismatches = Vec::new();
    for line in pairs.lines() {
        let pair: Pair = serde_json::from_str(line).unwrap();
        let base = &bases[pair.kind.as_str()];
        let resource = resource_of(base);
        let (Some(old), Some(new)) =
            (pair.object(base, pair.old.as_ref()), pair.object(base, pair.new.as_ref()))
        else {
            mismatches.push(format!("cannot be read: {line}"));
            continue;
        };
        let (before, after) = match (Object::parse(resource, &old), Object::parse(resource, &new)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(error), _) | (_, Err(error)) => {
                mismatches.push(format!("{error}: {line}"));
                continue;
            }
        };
        let same_spec = same_spec(&before, &after);
        let subject = Subject::update(after, &old);
        let same_template = !subject.template_changes(&policy.cluster);
        let ours = pair.found(&subject, same_spec, same_template);
        if ours != pair.verdict {
            mismatches.push(format!("setguard: {ours}; {line}"));
            continue;
        }
        // Rules that look for a template change must agree.
        if pair.verdict == "refused" || pair.path.starts_with("/spec/updateStrategy") {
            continue;
        }
        let verdict = engine::evaluate(&subject, &cx);
        let said =
            verdict.violations.iter().any(|judged| judged.finding.rule.id == "on-delete-change");
        if said == same_template {
            mismatches.push(format!("on-delete-change: {said}; {line}"));
        }
    }
    assert!(pairs.lines().count() > 1000, "pairs are missing");
    agree(&mismatches, pairs.lines().count());
}

#[derive(Deserialize)]
struct Applied {
    id: String,
    verb: String,
    old: Value,
    /// The manifest of the old object, if nothing else changed the object.
    before: Option<Value>,
    new: Value,
    result: Option<Value>,
    refused: Option<String>,
}

impl Applied {
    fn compare(&self, old: &Value) -> Option<String> {
        let resource = resource_of(old);
        let verb = match self.verb.as_str() {
            "apply" => Verb::Apply,
            "server-side-apply" => Verb::ServerSideApply,
            _ => Verb::Replace,
        };
        let (new, old) = (self.new.to_string(), old.to_string());
        let manifest = yaml::parse(&new).remove(0).unwrap().root;
        let delivery = Delivery::by(verb);
        let outcomes = apply::outcomes(&delivery, &manifest, resource, &old, &old);
        let objects: Vec<_> = outcomes
            .iter()
            .map(|outcome| schema::normalize(&outcome.to_json(), resource).unwrap())
            .collect();
        let refusals: Vec<_> = objects
            .iter()
            .map(|object| {
                let object = Object::parse(resource, object).unwrap();
                refusals(&Subject::update(object, &old))
            })
            .collect();
        let allowed = objects.iter().zip(&refusals).filter(|(_, refusals)| refusals.is_empty());
        let last = allowed.map(|(object, _)| object).next_back().unwrap_or(&objects[0]);
        let refusals = refusals.into_iter().find(|refusals| !refusals.is_empty());
        // If the server refuses the second object, kubectl prints a warning, and the first one stays.
        let refusals = refusals.filter(|_| self.refused.is_some() || objects.len() == 1);
        match (&self.refused, &self.result) {
            (Some(error), _) => {
                let refusals = refusals.unwrap_or_default();
                let named = refusals.iter().all(|refusal| error.contains(refusal));
                (refusals.is_empty() || !named).then(|| format!("{refusals:?}, expected {error}"))
            }
            (None, Some(result)) => {
                if let Some(refusals) = refusals {
                    return Some(format!("{refusals:?}, expected no error"));
                }
                let mut expected = self.new.clone();
                expected["spec"] = result["spec"].clone();
                let expected = expected.to_string();
                let expected = Object::parse(resource, &expected).unwrap();
                let outcome = Object::parse(resource, last).unwrap();
                let metadata: Value = serde_json::from_str(last).unwrap();
                let labels = ["labels", "finalizers"].iter().all(|name| {
                    let list = |of: &Value| of["metadata"][name].clone();
                    let is_empty = |value: &Value| {
                        value.as_array().is_some_and(Vec::is_empty) || value.is_null()
                    };
                    let (one, other) = (list(&metadata), list(result));
                    one == other || is_empty(&one) && is_empty(&other)
                });
                let same_template =
                    semantic::equal_templates(outcome.template(), expected.template());
                (!same_spec(&outcome, &expected) || !same_template || !labels)
                    .then(|| format!("{last}\n  expected {result}"))
            }
            (None, None) => panic!("{}: neither a result nor an error", self.id),
        }
    }
}

#[test]
fn the_outcome_is_that_of_kubectl() {
    let cases = read("apply.jsonl");
    let (mut mismatches, mut count) = (Vec::new(), 0);
    for line in cases.lines() {
        let case: Applied = serde_json::from_str(line).unwrap();
        // The previously applied manifest must lead to the same result as the stored object.
        for old in [Some(&case.old), case.before.as_ref()].into_iter().flatten() {
            count += 1;
            if let Some(mismatch) = case.compare(old) {
                let old = if old == &case.old { "object" } else { "manifest" };
                mismatches.push(format!("{} over the {old}: {mismatch}", case.id));
            }
        }
    }
    assert!(count > 250, "cases are missing");
    agree(&mismatches, count);
}
