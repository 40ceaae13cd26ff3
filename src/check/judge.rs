//! Judges a manifest and builds the report on it.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ignores::Ignores, previous::Previous};
use crate::{
    engine::{self, Context, Door, verdict::Verdict},
    finding::{Mode, Reason},
    inject::{self, Injection},
    inventory::{Inventory, item::Item},
    kubernetes::{pod_security::ENFORCE_LABEL, resource::Resource},
    manifests::{document::Manifest, id::ObjectId, namespaces::Namespaces, volumes},
    object::{DecodeError, Object, Subject, schema, storage::Storage, weight::Weight},
    policy::Policy,
    proposal::apply::{self, Verb},
    report::diagnostic::{Diagnostic, ObjectReport, Severity, Strictness},
    rules::api_validation::meta::{API_VALIDATION, POD_TEMPLATE_VALIDATION, SCHEMA},
    yaml::{Document, Node, Problem},
};

/// An object that was judged.
#[derive(Debug)]
pub(crate) struct JudgedObject {
    /// The report on it.
    pub(crate) report: ObjectReport,
    /// Its summary for the cross-object rules, if it could be read.
    pub(crate) item: Option<Item>,
}

/// What the input has beside the objects that are judged.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// The namespaces that request the control-plane tolerations.
    pub(crate) namespaces: Namespaces,
    /// The same before the change.
    pub(crate) old_namespaces: Namespaces,
    /// Whether any namespace may enforce a level of the Pod Security Standards.
    pub(crate) has_pod_security: bool,
    /// Claims and volumes.
    pub(crate) storage: Storage,
}

impl Surroundings {
    /// Whether a source may have anything to add.
    pub(crate) fn may_learn_from(text: &str) -> bool {
        Namespaces::may_be_in(text) || text.contains(ENFORCE_LABEL) || volumes::may_be_in(text)
    }

    /// Adds what a source has.
    pub(crate) fn add(&mut self, text: &str) {
        self.namespaces.add(text);
        self.has_pod_security |= text.contains(ENFORCE_LABEL);
        volumes::add(&mut self.storage, text);
    }
}

/// Everything that a judgement depends on besides the object.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    beside: Surroundings,
    policy: &'a Policy,
    previous: &'a Previous,
    verb: Verb,
    pub(super) strictness: Strictness,
    now: Timestamp,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        previous: &'a Previous,
        verb: Verb,
        beside: Surroundings,
        strictness: Strictness,
    ) -> Self {
        Judge { beside, policy, previous, verb, strictness, now: Timestamp::now() }
    }

    /// The comments of a document that exempt from warnings.
    pub(crate) fn ignores(&self, document: &Document<'_>) -> Ignores {
        if self.strictness.no_ignores { Ignores::default() } else { Ignores::of(document) }
    }

    pub(crate) fn judge(&self, manifest: &Manifest<'_>) -> JudgedObject {
        let id = ObjectId::of(&manifest.node);
        let report =
            ObjectReport { rendered_from: manifest.rendered_from(), ..ObjectReport::of(id) };
        let mut object = JudgedObject { report, item: None };
        let problems = manifest.problems.iter().cloned();
        object.report.diagnostics.extend(problems.map(schema));
        if let Some(resource) = manifest.resource {
            self.decode(&manifest.node, resource, &mut object);
        }
        object
    }

    fn decode(&self, node: &Node<'_>, resource: &'static Resource, judged: &mut JudgedObject) {
        let reading = schema::read(node, resource);
        let json = reading.json(node);
        let decodes = reading.problems.is_empty();
        judged.report.diagnostics.extend(reading.problems.into_iter().map(schema));
        // An unknown field does not keep the rest from being judged; a wrong type does.
        match Object::parse(resource, &json) {
            Ok(object) => self.evaluate(object, &json, node, judged),
            Err(DecodeError::TooHeavy(weight)) => self.too_heavy(&weight, node, judged),
            Err(error) if decodes => {
                let problem = Problem::at(node.mark, error.to_string());
                judged.report.diagnostics.push(schema(problem));
            }
            Err(_) => {}
        }
    }

    fn too_heavy(&self, weight: &Weight, node: &Node<'_>, judged: &mut JudgedObject) {
        let id = &judged.report.id;
        let (namespace, name, old) = (&id.namespace, &id.name, self.previous.get(id));
        let verdict = engine::evaluate_too_heavy(weight, namespace, name, old, &self.context());
        self.report(verdict, node, judged);
    }

    /// Judges an object, alone or as it will be when it is applied over the previous one.
    fn evaluate(&self, object: Object<'_>, json: &str, node: &Node<'_>, judged: &mut JudgedObject) {
        let (id, resource) = (&judged.report.id, object.resource);
        let Some(given) = self.previous.get(id) else {
            self.evaluate_outcome(object, json, node, None, true, judged);
            return;
        };
        let old = Object::parse(resource, given).ok();
        let old = old.map(|old| self.injection(&old, id, &self.beside.old_namespaces));
        let old = old.and_then(|injection| injection.applied(given));
        let old = old.as_deref().unwrap_or(given);
        let mut outcomes = apply::outcomes(self.verb, node, resource, given, old).into_iter();
        while let Some(outcome) = outcomes.next() {
            let json = schema::read(&outcome, resource).json(&outcome);
            let object = match Object::parse(resource, &json) {
                Ok(object) => object,
                Err(DecodeError::TooHeavy(weight)) => {
                    return self.too_heavy(&weight, &outcome, judged);
                }
                Err(_) => continue,
            };
            let is_last = outcomes.len() == 0;
            if self.evaluate_outcome(object, &json, &outcome, Some(old), is_last, judged) {
                return;
            }
        }
        // An outcome that cannot be read should not occur. The manifest must be judged all the same.
        self.evaluate_outcome(object, json, node, Some(old), true, judged);
    }

    /// Judges the object that the webhook and then the API server get. If it is not the last one, it
    /// is judged only if the API server refuses it; returns whether it was judged.
    fn evaluate_outcome(
        &self,
        object: Object<'_>,
        json: &str,
        node: &Node<'_>,
        old: Option<&str>,
        is_last: bool,
        judged: &mut JudgedObject,
    ) -> bool {
        let injection = self.injection(&object, &judged.report.id, &self.beside.namespaces);
        let of_injection = engine::evaluate_injection(&injection, &object, &self.context());
        let after = injection.applied(json);
        let after = after.as_deref().and_then(|json| Object::parse(object.resource, json).ok());
        let object = after.unwrap_or(object);
        // One that claims to be on its way out is nothing to other objects.
        let is_there = object.metadata.deletion_timestamp.is_none();
        let item = is_there.then(|| Item::of(&object));
        // What is refused is kept until the end, so only if it can matter.
        let item = item.map(|item| match self.beside.has_pod_security {
            true => item.with_refusals(object.template()),
            false => item,
        });
        let subject = match old {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        }
        .beside(&self.beside.storage);
        let verdict = engine::evaluate(&subject, &self.context());
        let is_refused = verdict.judged.iter().any(|judged| {
            [&API_VALIDATION, &POD_TEMPLATE_VALIDATION].contains(&judged.finding.rule)
                && judged.mode == Mode::Deny
        });
        if is_refused || is_last {
            judged.item = item;
            self.report(verdict, node, judged);
            self.report(of_injection, node, judged);
        }
        is_refused || is_last
    }

    /// What the webhook would inject into the template. The API server validates the result.
    fn injection(&self, object: &Object<'_>, id: &ObjectId, namespaces: &Namespaces) -> Injection {
        inject::template(object, namespaces.contains(&id.namespace), &self.policy.injection)
    }

    fn report(&self, verdict: Verdict, node: &Node<'_>, object: &mut JudgedObject) {
        object.report.remarks.extend(verdict.remarks);
        object.report.diagnostics.extend(verdict.judged.into_iter().filter_map(|judged| {
            let mark = node.locate(&judged.finding.field);
            Diagnostic::of(judged, mark, self.strictness)
        }));
    }

    /// Runs the cross-object rules.
    pub(crate) fn judge_cross_object(&self, inventory: &Inventory) -> BTreeMap<usize, Verdict> {
        engine::evaluate_cross_object(inventory, &self.previous.inventory, &self.context())
    }

    fn context(&self) -> Context<'a> {
        Context::of_command(self.policy, Door::Check, self.now)
    }
}

fn schema(problem: Problem) -> Diagnostic {
    Diagnostic {
        rule: &SCHEMA,
        severity: Severity::Error,
        mode: Mode::Deny,
        mark: problem.mark,
        field: problem.field.to_string(),
        reason: Reason::Invalid,
        message: problem.message,
        help: problem.help,
        downgrade: None,
        occurrence: 0,
    }
}

/// A document that cannot be read, or that is no object. `is_template` says whether its source looks
/// like a Helm template.
pub(super) fn syntax(mut problem: Problem, is_template: bool) -> Diagnostic {
    if problem.help.is_none() && is_template {
        let help = "if this is a Helm template, check the rendered chart: \
                    helm template CHART | setguard check -";
        problem.help = Some(help.to_owned());
    }
    schema(problem)
}
