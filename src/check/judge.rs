//! From a manifest to what is to be said of it.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::previous::{Id, Previous};
use crate::{
    engine::{
        self, Context, Door,
        verdict::{Eased, Judged, Verdict},
    },
    finding::{Mode, Reason},
    inject::{self, Injection},
    inventory::{Inventory, item::Item},
    kubernetes::resource::Resource,
    manifests::{document::Manifest, namespaces::Namespaces},
    object::{
        Object, Subject,
        marks::{self},
        schema,
    },
    policy::Policy,
    rules::api_validation::metas::SCHEMA,
    yaml::{Mark, Node, Problem},
};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Worth knowing.
    Note,
    /// Accepted, and not as meant.
    Warning,
    /// Refused.
    Error,
}

impl Severity {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing to say, and where.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) mark: Mark,
    pub(crate) field: String,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// Why it is taken less strictly than its rule is.
    pub(crate) eased: Option<String>,
}

/// All that is to be said of an object.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) id: Id,
    pub(crate) said: Vec<Said>,
    /// Of the policy, not of the object.
    pub(crate) remarks: Vec<String>,
    /// What it is to others, if it could be read.
    pub(crate) item: Option<Item>,
}

impl Judgement {
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.said.iter().map(|said| said.severity).max()
    }
}

/// The namespaces that ask for the control plane, as they were and as they shall be.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) old: Namespaces,
    pub(crate) new: Namespaces,
}

/// What judgements go by.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    namespaces: Change,
    policy: &'a Policy,
    previous: &'a Previous,
    deny_warnings: bool,
    today: Date,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        previous: &'a Previous,
        namespaces: Change,
        deny_warnings: bool,
    ) -> Self {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        Judge { namespaces, policy, previous, deny_warnings, today }
    }

    pub(crate) fn judge(&self, manifest: &Manifest<'_>) -> Judgement {
        let id = Id::of(&manifest.node);
        let mut judgement = Judgement { id, said: Vec::new(), remarks: Vec::new(), item: None };
        for problem in &manifest.problems {
            let field = problem.field.to_string();
            let field = field.strip_prefix(&manifest.prefix).unwrap_or(&field).to_owned();
            judgement.said.push(schema(problem.clone(), field));
        }
        match manifest.resource {
            Some(resource) => self.decode(&manifest.node, resource, &mut judgement),
            None => judgement.said.push(not_served(&manifest.node)),
        }
        judgement
    }

    fn decode(&self, node: &Node<'_>, resource: &'static Resource, judgement: &mut Judgement) {
        let reading = schema::read(node, resource);
        let json = reading.json(node);
        let decodes = reading.problems.is_empty();
        for problem in reading.problems {
            let field = problem.field.to_string();
            judgement.said.push(schema(problem, field));
        }
        // An unknown field does not keep the rest from being judged; a wrong type does.
        match Object::parse(resource, &json) {
            Ok(object) => {
                let injection = self.injection(&object, judgement, &self.namespaces.new);
                let after = injection.applied(&json);
                let after = after.as_deref().and_then(|json| Object::parse(resource, json).ok());
                self.evaluate(after.unwrap_or(object), node, judgement);
                self.say_all(injection.verdict(self.policy), node, judgement);
            }
            Err(error) if decodes => {
                let problem = Problem::at(node.mark, error.to_string());
                judgement.said.push(schema(problem, String::new()));
            }
            Err(_) => {}
        }
    }

    /// What the webhook would put into the template: the API server judges what comes out.
    fn injection(&self, object: &Object<'_>, of: &Judgement, namespaces: &Namespaces) -> Injection {
        inject::template(object, namespaces.ask(&of.id.namespace), &self.policy.injection)
    }

    fn evaluate(&self, object: Object<'_>, node: &Node<'_>, judgement: &mut Judgement) {
        judgement.item = Item::of(&object);
        let old = self.previous.get(&judgement.id);
        let old_after = old.and_then(|json| {
            let object = Object::parse(object.resource, json).ok()?;
            self.injection(&object, judgement, &self.namespaces.old).applied(json)
        });
        let subject = match old_after.as_deref().or(old) {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        };
        self.say_all(engine::evaluate(&subject, &self.context()), node, judgement);
    }

    fn say_all(&self, verdict: Verdict, node: &Node<'_>, judgement: &mut Judgement) {
        judgement.remarks.extend(verdict.remarks);
        judgement.said.extend(verdict.judged.into_iter().filter_map(|judged| {
            let mark = node.locate(&judged.finding.field);
            self.say(judged, mark)
        }));
    }

    /// Judges the objects at these places of the inventory as they bear on each other.
    pub(crate) fn judge_together(&self, inventory: &Inventory) -> BTreeMap<usize, Verdict> {
        engine::evaluate_together(inventory, &self.previous.inventory, &self.context())
    }

    const fn context(&self) -> Context<'a> {
        Context { policy: self.policy, door: Door::Check, today: self.today }
    }

    /// In the words of a report. `None` if there is nothing to be said.
    pub(crate) fn say(&self, judged: Judged, mark: Mark) -> Option<Said> {
        let Judged { finding, mode, eased } = judged;
        let severity = match mode {
            Mode::Off => return None,
            Mode::Audit => Severity::Note,
            Mode::Warn if self.deny_warnings => Severity::Error,
            Mode::Warn => Severity::Warning,
            Mode::Deny => Severity::Error,
        };
        Some(Said {
            rule: finding.rule,
            severity,
            mark,
            field: finding.field.to_string(),
            reason: finding.reason,
            message: finding.message,
            help: finding.help.map(Into::into),
            eased: eased.map(|eased| match eased {
                Eased::Ratcheted => "not denied: the object had this fault before".to_owned(),
                Eased::Exception(reason) => format!("excepted by the policy: {reason}"),
                Eased::Annotation => {
                    format!("let off by the annotation {}", marks::IGNORE_ANNOTATION)
                }
            }),
        })
    }
}

fn schema(problem: Problem, field: String) -> Said {
    Said {
        rule: SCHEMA,
        severity: Severity::Error,
        mark: problem.mark,
        field,
        reason: Reason::Invalid,
        message: problem.message,
        help: problem.help,
        eased: None,
    }
}

/// A kind of ours in a version that no cluster serves any more.
fn not_served(node: &Node<'_>) -> Said {
    let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut problem = Problem::at(
        node.get("apiVersion").map_or(node.mark, |node| node.mark),
        format!("no cluster since Kubernetes 1.16 serves a {kind} of {api_version}"),
    );
    problem.help = Some("write apps/v1, and a selector".to_owned());
    schema(problem, "apiVersion".to_owned())
}

/// A document that is not YAML.
pub(crate) fn syntax(mut problem: Problem, text: &str) -> Said {
    if problem.help.is_none() && text.contains("{{") {
        let help = "if this is a Helm template, judge what it comes to: \
                    helm template CHART | setguard check -";
        problem.help = Some(help.to_owned());
    }
    schema(problem, String::new())
}
