//! Judges a manifest and builds the report on it.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::previous::Previous;
use crate::{
    engine::{
        self, Context, Door,
        deadline::Deadline,
        verdict::{Downgrade, Judged, Verdict},
    },
    finding::{Mode, Reason},
    inject::{self, Injection},
    inventory::{Inventory, item::Item},
    kubernetes::resource::Resource,
    manifests::{document::Manifest, id::ObjectId, namespaces::Namespaces},
    object::{DecodeError, Object, Subject, marks, schema},
    policy::Policy,
    report::diagnostic::{Diagnostic, ObjectReport, Severity},
    rules::api_validation::meta::SCHEMA,
    yaml::{Mark, Node, Problem},
};

/// An object that was judged.
#[derive(Debug)]
pub(crate) struct JudgedObject {
    /// The report on it.
    pub(crate) report: ObjectReport,
    /// Its summary for the cross-object rules, if it could be read.
    pub(crate) item: Option<Item>,
}

/// The namespaces that request the control-plane tolerations, before and after the change.
#[derive(Debug)]
pub(crate) struct NamespacesBeforeAndAfter {
    pub(crate) old: Namespaces,
    pub(crate) new: Namespaces,
}

/// Everything that a judgement depends on besides the object.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    namespaces: NamespacesBeforeAndAfter,
    policy: &'a Policy,
    previous: &'a Previous,
    deny_warnings: bool,
    today: Date,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        previous: &'a Previous,
        namespaces: NamespacesBeforeAndAfter,
        deny_warnings: bool,
    ) -> Self {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        Judge { namespaces, policy, previous, deny_warnings, today }
    }

    pub(crate) fn judge(&self, manifest: &Manifest<'_>) -> JudgedObject {
        let id = ObjectId::of(&manifest.node);
        let report = ObjectReport { id, diagnostics: Vec::new(), remarks: Vec::new() };
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
            Ok(object) => {
                let id = &judged.report.id;
                let injection = self.injection(&object, id, &self.namespaces.new);
                let of_injection = engine::evaluate_injection(&injection, &object, &self.context());
                let after = injection.applied(&json);
                let after = after.as_deref().and_then(|json| Object::parse(resource, json).ok());
                self.evaluate(after.unwrap_or(object), node, judged);
                self.report(of_injection, node, judged);
            }
            Err(DecodeError::TooHeavy(weight)) => {
                let id = &judged.report.id;
                let (namespace, name) = (&id.namespace, &id.name);
                let old = self.previous.get(id);
                let cx = self.context();
                let verdict = engine::evaluate_too_heavy(&weight, namespace, name, old, &cx);
                self.report(verdict, node, judged);
            }
            Err(error) if decodes => {
                let problem = Problem::at(node.mark, error.to_string());
                judged.report.diagnostics.push(schema(problem));
            }
            Err(_) => {}
        }
    }

    /// What the webhook would inject into the template. The API server validates the result.
    fn injection(&self, object: &Object<'_>, id: &ObjectId, namespaces: &Namespaces) -> Injection {
        inject::template(object, namespaces.contains(&id.namespace), &self.policy.injection)
    }

    fn evaluate(&self, object: Object<'_>, node: &Node<'_>, judged: &mut JudgedObject) {
        judged.item = Item::of(&object);
        let id = &judged.report.id;
        let old = self.previous.get(id);
        let old_after = old.and_then(|json| {
            let object = Object::parse(object.resource, json).ok()?;
            self.injection(&object, id, &self.namespaces.old).applied(json)
        });
        let subject = match old_after.as_deref().or(old) {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        };
        self.report(engine::evaluate(&subject, &self.context()), node, judged);
    }

    fn report(&self, verdict: Verdict, node: &Node<'_>, object: &mut JudgedObject) {
        object.report.remarks.extend(verdict.remarks);
        object.report.diagnostics.extend(verdict.judged.into_iter().filter_map(|judged| {
            let mark = node.locate(&judged.finding.field);
            self.diagnostic(judged, mark)
        }));
    }

    /// Runs the cross-object rules.
    pub(crate) fn judge_cross_object(&self, inventory: &Inventory) -> BTreeMap<usize, Verdict> {
        engine::evaluate_cross_object(inventory, &self.previous.inventory, &self.context())
    }

    const fn context(&self) -> Context<'a> {
        Context {
            policy: self.policy,
            door: Door::Check,
            today: self.today,
            deadline: Deadline::NONE,
        }
    }

    /// A judged finding as a report shows it. `None` if its rule is off.
    pub(crate) fn diagnostic(&self, judged: Judged, mark: Mark) -> Option<Diagnostic> {
        let Judged { finding, mode, downgrade } = judged;
        let severity = match mode {
            Mode::Off => return None,
            Mode::Audit => Severity::Note,
            Mode::Warn if self.deny_warnings => Severity::Error,
            Mode::Warn => Severity::Warning,
            Mode::Deny => Severity::Error,
        };
        Some(Diagnostic {
            rule: finding.rule,
            severity,
            mark,
            field: finding.field.to_string(),
            reason: finding.reason,
            message: finding.message,
            help: finding.help.map(Into::into),
            downgrade: downgrade.map(|downgrade| match downgrade {
                Downgrade::Ratcheted => "not denied: the object had this fault already".to_owned(),
                Downgrade::Exception(reason) => format!("exempted by the policy: {reason}"),
                Downgrade::Annotation => {
                    format!("exempted by the annotation {}", marks::IGNORE_ANNOTATION)
                }
            }),
        })
    }
}

fn schema(problem: Problem) -> Diagnostic {
    Diagnostic {
        rule: &SCHEMA,
        severity: Severity::Error,
        mark: problem.mark,
        field: problem.field.to_string(),
        reason: Reason::Invalid,
        message: problem.message,
        help: problem.help,
        downgrade: None,
    }
}

/// A document that cannot be read, or that is no object.
pub(crate) fn syntax(mut problem: Problem, text: &str) -> Diagnostic {
    if problem.help.is_none() && text.contains("{{") {
        let help = "if this is a Helm template, check the rendered chart: \
                    helm template CHART | setguard check -";
        problem.help = Some(help.to_owned());
    }
    schema(problem)
}
