//! The checks of a manifest, and the report on them.

#![expect(clippy::disallowed_methods, reason = "today's date is read here")]

use std::{collections::HashMap, convert::Infallible};

use jiff::Timestamp;

use super::{ignores::Ignores, old_objects::OldObjects, workers};
use crate::{
    engine::{self, Context, Neighbors, Origin, verdict::Verdict},
    finding::{Mode, Reason},
    inventory::{Inventory, object_summary::ObjectSummary},
    kubernetes::pod_security::ENFORCE_LABEL,
    manifests::{
        document::{Decoded, Manifest},
        id::ObjectId,
        namespaces::Namespaces,
        not_checked::{Cause, NotChecked},
        path_context::{Lowered, PathContext},
        volumes,
    },
    object::{size::ObjectSize, storage::Storage},
    policy::Policy,
    proposal::{Outcome, Proposal, Simulator, Stored, apply::Delivery},
    report::diagnostic::{Diagnostic, ObjectReport, Severity, Strictness},
    rules::{api_validation::METAS, rule::inventory::Coverage, schema::SCHEMA},
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
    pub(crate) item: Option<ObjectSummary>,
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
    /// Facts about a file from its path, by its name.
    pub(crate) paths: HashMap<String, PathContext>,
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
    previous: &'a OldObjects,
    delivery: Delivery,
    pub(super) strictness: Strictness,
    now: Timestamp,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        previous: &'a OldObjects,
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
        let report = &mut object.report;
        if report.diagnostics.iter().any(|it| it.mode == Mode::Deny)
            && let Some(context) = self.path_context(file)
        {
            report.remarks.extend(context.built((&report.id.kind, &report.id.name), "check"));
        }
        object
    }

    /// Returns the facts about a file from its path.
    pub(super) fn path_context(&self, file: &str) -> Option<&PathContext> {
        self.context.paths.get(file)
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
        self.simulator(file).apply(&proposal, |node, outcome| match outcome {
            Outcome::Stored(stored) => self.stored(*stored, node, file, checked),
            Outcome::TooLarge(size) => self.too_large(&size, node, file, checked),
            Outcome::Undecodable(error) if decodes => {
                let problem = Problem::at(node.mark, error.to_string());
                checked.report.diagnostics.push(schema(problem));
            }
            Outcome::Undecodable(_) => {}
        });
    }

    fn simulator<'b>(&'b self, file: &'b str) -> Simulator<'b> {
        Simulator {
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
        let item = is_there.then(|| ObjectSummary::of(object).with_replicas_set(sets_replicas));
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
        let id = &object.report.id;
        self.lower(&mut verdict, file, (&id.kind, &id.name), Some(node));
        object.report.remarks.extend(verdict.remarks);
        object.report.diagnostics.extend(verdict.violations.into_iter().filter_map(|violation| {
            let mark = node.locate(&violation.finding.field);
            Diagnostic::of(violation, mark, self.strictness)
        }));
    }

    /// Makes notes of warnings that the path of a file, a kustomization or the object itself gives a reason for.
    pub(super) fn lower(
        &self,
        verdict: &mut Verdict,
        file: &str,
        (kind, name): (&str, &str),
        node: Option<&Node<'_>>,
    ) {
        if self.strictness.no_ignores {
            return;
        }
        let context = self.context.paths.get(file);
        let by_path = context.map_or(&[][..], |it| &it.lowered);
        let by_image = node.and_then(Lowered::by_image);
        for lowered in by_path.iter().chain(&by_image) {
            verdict.lower(|it| lowered.covers(it).then(|| lowered.why.clone()));
        }
        if let Some(context) = context {
            verdict.lower(|it| context.patched((kind, name), node, it));
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

/// Makes notes of what the API server would refuse about a placeholder, such as `${REPLICAS}`, `{{replicas}}`,
/// `$(replicas)` or `$REPLICAS`. In a repository, it is replaced before the manifest is applied, so the object was not
/// checked.
pub(super) fn postpone(
    report: &mut ObjectReport,
    node: &Node<'_>,
    file: &str,
) -> Option<NotChecked> {
    let mut first = None;
    let refused = |it: &&mut Diagnostic| {
        it.mode == Mode::Deny && (it.rule == SCHEMA || METAS.contains(&it.rule))
    };
    for diagnostic in report.diagnostics.iter_mut().filter(refused) {
        // The API server names a map of labels, or the whole selector, and repeats the value.
        let repeated = diagnostic.message.strip_prefix("Invalid value: ");
        let text = text_at(node, diagnostic.mark).or(repeated).unwrap_or_default();
        let Some(placeholder) = placeholder(text, &diagnostic.field) else { continue };
        diagnostic.severity = Severity::Note;
        diagnostic.mode = Mode::Audit;
        let why = format!("{placeholder} seems to be replaced before this is applied");
        diagnostic.downgrade = Some(format!("not denied: {why}"));
        let line = diagnostic.mark.line;
        first.get_or_insert_with(|| {
            let why = format!("{why}; check what is applied");
            NotChecked::object(file, line, Cause::Placeholder, why)
        });
    }
    first
}

/// The fields in which the kubelet replaces `$(NAME)`, and a shell `$NAME`, so that these are applied as they are.
const EXPANDED: [&str; 4] = [".command[", ".args[", ".env[", ".subPathExpr"];

/// Returns the first placeholder in a text.
fn placeholder(text: &str, field: &str) -> Option<String> {
    let is_expanded = EXPANDED.iter().any(|it| field.contains(it));
    let brackets = [("${", "}"), ("{{", "}}"), ("$(", ")")];
    let brackets = brackets.into_iter().filter(|(open, _)| !is_expanded || *open != "$(");
    let found = brackets.into_iter().find_map(|(open, close)| {
        let (name, _) = text.split_once(open)?.1.split_once(close)?;
        Some(format!("{open}{name}{close}"))
    });
    found.or_else(|| variable(text).filter(|_| !is_expanded))
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

fn schema(problem: Problem) -> Diagnostic {
    Diagnostic {
        rule: SCHEMA,
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
