//! The checks of a manifest, and the report on them.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

use std::{collections::HashMap, convert::Infallible};

use jiff::Timestamp;

use super::{ignores::Ignores, previous::Previous, workers};
use crate::{
    engine::{self, Context, Neighbors, Origin, verdict::Verdict},
    finding::{Finding, Mode, Premise, Reason},
    inventory::{Inventory, item::Item},
    kubernetes::pod_security::ENFORCE_LABEL,
    manifests::{
        document::{Decoded, Manifest},
        id::ObjectId,
        namespaces::Namespaces,
        patches::Patch,
        samples,
        surroundings::Surroundings,
        volumes,
    },
    object::{size::ObjectSize, storage::Storage},
    policy::Policy,
    proposal::{Applied, Applier, Proposal, Stored, apply::Delivery},
    report::diagnostic::{Diagnostic, ObjectReport, Severity, Strictness},
    rules::{api_validation::meta::SCHEMA, rule::inventory::Coverage},
    yaml::{Document, Mark, Node, Problem, Value},
};

/// The number of objects that a thread takes at a time for the cross-object rules.
const AT_A_TIME: usize = 64;

/// An object that was checked.
#[derive(Debug)]
pub(crate) struct CheckedObject {
    /// The report on the object.
    pub(crate) report: ObjectReport,
    /// The summary for the cross-object rules, if the object could be read.
    pub(crate) item: Option<Item>,
}

/// The parts of the input that objects are checked against.
#[derive(Debug, Default)]
pub(crate) struct InputContext {
    /// The namespaces that request the control-plane tolerations.
    pub(crate) namespaces: Namespaces,
    /// The namespaces that requested them before the change.
    pub(crate) old_namespaces: Namespaces,
    /// The namespace of manifests that set none.
    pub(crate) namespace: Option<String>,
    /// Whether any namespace may enforce a level of the Pod Security Standards.
    pub(crate) has_pod_security: bool,
    /// The claims and volumes.
    pub(crate) storage: Storage,
    /// Facts about a file from the folders around it, by its name.
    pub(crate) surroundings: HashMap<String, Surroundings>,
}

impl InputContext {
    /// Returns no parts yet, for manifests of which those that set no namespace belong to this one.
    pub(crate) fn of_namespace(namespace: Option<String>) -> Self {
        InputContext { namespace, ..InputContext::default() }
    }

    /// Returns whether a source may have anything to add.
    pub(crate) fn may_learn_from(text: &str) -> bool {
        Namespaces::may_be_in(text) || has_pod_security(text) || volumes::may_be_in(text)
    }

    /// Adds the namespaces, claims and volumes of a source.
    pub(crate) fn add(&mut self, text: &str) {
        self.namespaces.add(text);
        self.has_pod_security |= has_pod_security(text);
        volumes::add(&mut self.storage, text);
    }
}

fn has_pod_security(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), ENFORCE_LABEL.as_bytes()).is_some()
}

/// All inputs of a verdict besides the object.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    context: InputContext,
    policy: &'a Policy,
    previous: &'a Previous,
    delivery: Delivery,
    pub(super) strictness: Strictness,
    now: Timestamp,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        previous: &'a Previous,
        delivery: Delivery,
        context: InputContext,
        strictness: Strictness,
    ) -> Self {
        Checker { context, policy, previous, delivery, strictness, now: Timestamp::now() }
    }

    /// Returns the namespace of manifests that set none.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.context.namespace.as_deref()
    }

    /// Reads the comments of a document that exempt from warnings.
    pub(crate) fn ignores(&self, document: &Document<'_>) -> Ignores {
        if self.strictness.no_ignores { Ignores::default() } else { Ignores::of(document) }
    }

    /// Checks an object of a file, whose name exceptions may match.
    pub(crate) fn check(&self, manifest: &Manifest<'_>, file: &str) -> CheckedObject {
        let id = ObjectId::of(&manifest.node);
        let report =
            ObjectReport { rendered_from: manifest.rendered_from(), ..ObjectReport::of(id) };
        let mut object = CheckedObject { report, item: None };
        let problems = manifest.problems.iter().cloned();
        object.report.diagnostics.extend(problems.map(schema));
        if let Some(decoded) = manifest.decode(self.policy.cluster.version) {
            self.apply(&manifest.node, decoded, file, &mut object);
        }
        if let Some(around) = self.context.surroundings.get(file) {
            excuse(&mut object.report, &manifest.node, around);
        }
        object
    }

    fn apply(&self, node: &Node<'_>, decoded: Decoded, file: &str, checked: &mut CheckedObject) {
        let Decoded { resource, json, problems } = decoded;
        let decodes = problems.is_empty();
        checked.report.diagnostics.extend(problems.into_iter().map(schema));
        let id = checked.report.id.clone();
        let old = self.previous.get(&id, file);
        checked.report.remarks.extend(self.previous.namesake(&id, node));
        let proposal = Proposal { id: &id, resource, node, json: &json, old };
        // An unknown field doesn't keep the rest from being checked; a wrong type does.
        self.applier(file).apply(&proposal, |node, outcome| match outcome {
            Applied::Stored(stored) => self.stored(*stored, node, file, checked),
            Applied::TooLarge(size) => self.too_large(&size, node, file, checked),
            Applied::Undecodable(error) if decodes => {
                let problem = Problem::at(node.mark, error.to_string());
                checked.report.diagnostics.push(schema(problem));
            }
            Applied::Undecodable(_) => {}
        });
    }

    fn applier<'b>(&'b self, file: &'b str) -> Applier<'b> {
        Applier {
            context: Context { file: Some(file), ..self.context() },
            delivery: &self.delivery,
            storage: &self.context.storage,
            namespaces: &self.context.namespaces,
            old_namespaces: &self.context.old_namespaces,
        }
    }

    fn too_large(
        &self,
        size: &ObjectSize,
        node: &Node<'_>,
        file: &str,
        checked: &mut CheckedObject,
    ) {
        let cx = Context { file: Some(file), ..self.context() };
        let id = &checked.report.id;
        let (namespace, name, old) = (&id.namespace, &id.name, self.previous.get(id, file));
        let verdict = engine::evaluate_too_large(size, namespace, name, old, &cx);
        self.report(verdict, node, file, checked);
    }

    fn stored(&self, stored: Stored<'_>, node: &Node<'_>, file: &str, checked: &mut CheckedObject) {
        let object = &stored.subject.object;
        // An object that claims to be in deletion is ignored for other objects.
        let is_there = object.metadata.deletion_timestamp.is_none();
        let sets_replicas = node.get("spec").and_then(|spec| spec.get("replicas")).is_some();
        let item = is_there.then(|| Item::of(object).with_replicas_set(sets_replicas));
        // Refusals are kept until the end, so only if they can matter.
        checked.item = item.map(|item| match self.context.has_pod_security {
            true => item.with_refusals(object.template()),
            false => item,
        });
        self.report(stored.verdict, node, file, checked);
        self.report(stored.of_injection, node, file, checked);
    }

    fn report(
        &self,
        mut verdict: Verdict,
        node: &Node<'_>,
        file: &str,
        object: &mut CheckedObject,
    ) {
        self.set_aside(&mut verdict, file);
        let is_about_full_nodes = |it: &Finding| it.premise == Some(Premise::FullNodes);
        if verdict.violations.iter().any(|it| is_about_full_nodes(&it.finding))
            && let Some(image) = samples::image(node)
        {
            let why = format!("the image {image} is a sample, which no other pod needs");
            verdict.set_aside(&why, is_about_full_nodes);
        }
        object.report.remarks.extend(verdict.remarks);
        object.report.diagnostics.extend(verdict.violations.into_iter().filter_map(|violation| {
            let mark = node.locate(&violation.finding.field);
            Diagnostic::of(violation, mark, self.strictness)
        }));
    }

    /// Makes notes of the warnings about a file that is set aside.
    pub(crate) fn set_aside(&self, verdict: &mut Verdict, file: &str) {
        let Some(around) = self.context.surroundings.get(file) else { return };
        if let Some(why) = &around.aside {
            verdict.set_aside(why, |_| true);
        }
        for (premise, why) in &around.lacks {
            verdict.set_aside(why, |it| it.premise == Some(*premise));
        }
    }

    /// Makes notes of warnings about an object and others. A label that the object lacks may be added by a
    /// kustomization.
    pub(crate) fn set_related_aside(&self, verdict: &mut Verdict, item: &Item) {
        let Some(file) = item.file() else { return };
        self.set_aside(verdict, file);
        let patches = self.context.surroundings.get(file).map_or(&[][..], |it| &it.patches);
        let is_of_labels = |it: &&Patch| {
            it.reaches(&item.kind().to_string(), item.name(), "spec.template.metadata.labels")
        };
        if let Some(patch) = patches.iter().find(is_of_labels) {
            let why = format!("{} changes the labels", patch.folder.display());
            verdict.set_aside(&why, |it| it.rule.id == "service-selects-nothing");
        }
    }

    /// Runs the cross-object rules on all cores. Returns the objects about which something is found, each with
    /// its index in the inventory.
    pub(crate) fn check_cross_object(
        &self,
        inventory: &Inventory,
        coverage: &Coverage,
    ) -> Vec<(usize, Verdict)> {
        let context = self.context();
        let neighbors = Neighbors::new(inventory, coverage, &self.previous.inventory, &context);
        let mut found = Vec::new();
        let done: Result<(), Infallible> = workers::in_batches(
            neighbors.evaluated().collect(),
            AT_A_TIME,
            |index| Some((index, neighbors.evaluate(index)?)),
            |of_one| {
                found.extend(of_one);
                Ok(())
            },
        );
        match done {
            Ok(()) => found,
        }
    }

    fn context(&self) -> Context<'a> {
        Context::of_command(self.policy, Origin::Manifest, self.now)
    }
}

/// Makes a note of what would be denied, or of a warning, if it may be no fault in the object that is applied.
fn excuse(report: &mut ObjectReport, node: &Node<'_>, around: &Surroundings) {
    let ObjectReport { id, diagnostics, .. } = report;
    // A kustomization that changes anything in the pod need not change what the pod lacks.
    let is_large = |field: &str| matches!(field, "spec" | "spec.template" | "spec.template.spec");
    let faults = diagnostics.iter_mut().filter(|it| match it.mode {
        Mode::Deny => it.rule != &SCHEMA,
        Mode::Warn => !is_large(&it.field),
        _ => false,
    });
    for diagnostic in faults {
        let fault = (diagnostic.reason, &*diagnostic.field);
        let why = around.excuse((&id.kind, &id.name), node, fault, "check");
        why.iter().for_each(|why| forgive(diagnostic, why));
    }
}

/// Makes notes of what would be denied where the manifest has a placeholder, such as `${REPLICAS}`,
/// `{{replicas}}`, `$(replicas)` or `$REPLICAS`. In a repository, it is replaced before the manifest is applied.
pub(super) fn excuse_placeholders(report: &mut ObjectReport, node: &Node<'_>) {
    for diagnostic in report.diagnostics.iter_mut().filter(|it| it.mode == Mode::Deny) {
        // The API server names a map of labels, or the whole selector, and repeats the value.
        let repeated = diagnostic.message.strip_prefix("Invalid value: ");
        let text = text_at(node, diagnostic.mark).or(repeated).unwrap_or_default();
        let brackets = [("${", "}"), ("{{", "}}"), ("$(", ")")];
        let placeholder = brackets.into_iter().find_map(|(open, close)| {
            let (name, _) = text.split_once(open)?.1.split_once(close)?;
            Some(format!("{open}{name}{close}"))
        });
        if let Some(it) = placeholder.or_else(|| variable(text)) {
            forgive(diagnostic, &format!("{it} seems to be replaced before this is applied"));
        }
    }
}

/// Returns the first variable of a shell in a text, such as `$NAMESPACE`.
fn variable(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('$')?;
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = rest.split(|c| !is_in_name(c)).next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then(|| format!("${name}"))
}

fn text_at<'n>(node: &'n Node<'_>, mark: Mark) -> Option<&'n str> {
    match &node.value {
        Value::Str(text) => Some(&**text).filter(|_| node.mark == mark),
        Value::Map(entries) => entries.iter().find_map(|(_, value)| text_at(value, mark)),
        Value::Seq(items) => items.iter().find_map(|item| text_at(item, mark)),
        _ => None,
    }
}

fn forgive(diagnostic: &mut Diagnostic, why: &str) {
    let what = if diagnostic.mode == Mode::Warn { "a warning" } else { "denied" };
    diagnostic.severity = Severity::Note;
    diagnostic.mode = Mode::Audit;
    diagnostic.downgrade = Some(format!("not {what}: {why}"));
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
        commands: Vec::new(),
        facts: None,
        fix: None,
        downgrade: None,
        occurrence: 0,
        is_folded: false,
        change: None,
    }
}

/// Reports a document that cannot be read, or that isn't an object. `is_template` says whether its
/// source looks like a Helm template.
pub(super) fn syntax(mut problem: Problem, is_template: bool) -> Diagnostic {
    if problem.help.is_none() && is_template {
        let help = "if this is a Helm template, check the rendered chart: \
                    helm template CHART | setguard check -";
        problem.help = Some(help.to_owned());
    }
    schema(problem)
}
