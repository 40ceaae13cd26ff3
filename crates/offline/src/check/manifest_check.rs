//! The checks of a manifest, and the report on them.

use std::convert::Infallible;

use setguard_core::{
    engine::{self, Context, Neighbors, Origin, adjustment::Why},
    finding::{Fix, Reason},
    object::{size::ObjectSize, storage::Storage},
    rules::{
        api_validation::{API_VALIDATION, METAS},
        rule::inventory::Coverage,
        schema::SCHEMA,
    },
};

use super::{ignores::Ignores, old_objects::OldObjects, workers};
use crate::prelude::*;
use crate::proposal::{Outcome, Proposal, Simulator, Stored, apply::Delivery};
use setguard_files::{manifests::path_context::Lowered, report::diagnostic::meant};

/// The number of objects that a thread takes at a time for the cross-object rules.
const AT_A_TIME: usize = 64;

#[derive(Debug)]
pub(crate) struct CheckedObject {
    pub(crate) report: ObjectReport,
    /// The summary for the cross-object rules, if the object is readable.
    pub(crate) item: Option<ObjectSummary>,
    /// The first placeholder that turns a denial into a note.
    pub(crate) postponed: Option<NotChecked>,
}

/// A finding, its position in the file, and its related positions.
type Located = (Violation, Mark, Vec<(Mark, String)>);

/// The findings in an object before the document's comments apply.
struct Found {
    id: Arc<ObjectId>,
    violations: Vec<Located>,
    remarks: Vec<String>,
    /// Why the run cannot enforce limits of the policy.
    moved: Option<String>,
    item: Option<ObjectSummary>,
}

#[derive(Debug, Default)]
pub(crate) struct InputContext {
    pub(crate) namespaces: Namespaces,
    /// The namespaces that requested the tolerations before the change.
    pub(crate) old_namespaces: Namespaces,
    pub(crate) namespace: Option<String>,
    /// Whether any namespace may refuse pods.
    pub(crate) may_refuse: bool,
    pub(crate) storage: Storage,
    /// Path facts by file name.
    pub(crate) paths: HashMap<String, PathContext>,
    /// Whether comments, annotations and file paths have no effect on severity.
    pub(crate) no_ignores: bool,
}

impl InputContext {
    /// Creates an empty context. `namespace` applies to manifests that set none.
    pub(crate) fn of_namespace(namespace: Option<&str>) -> Self {
        InputContext { namespace: namespace.map(str::to_owned), ..InputContext::default() }
    }

    /// Returns whether a text may contain namespaces, claims or volumes.
    pub(crate) fn may_learn_from(text: &str) -> bool {
        Namespaces::may_be_in(text) || may_refuse(text) || volumes::may_be_in(text)
    }

    pub(crate) fn add(&mut self, text: &str) {
        self.namespaces.add(text);
        self.may_refuse |= may_refuse(text);
        volumes::add(&mut self.storage, text);
    }
}

/// Returns whether a namespace of a text may have a level of the Pod Security Standards or limits, or whether an
/// autoscaler may compare with requests.
fn may_refuse(text: &str) -> bool {
    let marks = ["pod-security.kubernetes.io/", "LimitRange", "ResourceQuota", "Utilization"];
    let mut marks = marks.into_iter();
    marks.any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some())
}

/// The inputs of a verdict besides the object.
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

    /// Returns whether any namespace may refuse pods.
    pub(super) fn may_refuse(&self) -> bool {
        self.context.may_refuse || self.policy.cluster.pod_security.may_refuse()
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.context.namespace.as_deref()
    }

    pub(crate) fn ignores(&self, document: &Document<'_>) -> Ignores {
        if self.context.no_ignores { Ignores::default() } else { Ignores::of(document) }
    }

    /// Checks an object of a file. Exceptions may match the file's name. In a folder, a placeholder turns what the API
    /// server would reject into a note.
    pub(crate) fn check(
        &self,
        manifest: &Manifest<'_>,
        file: &str,
        is_named: bool,
        ignores: &mut Ignores,
    ) -> CheckedObject {
        let mut found = Found {
            id: ObjectId::of(&manifest.node).into(),
            violations: manifest.problems.iter().cloned().map(schema).collect(),
            remarks: Vec::new(),
            moved: None,
            item: None,
        };
        if let Some(decoded) = manifest.decode(self.policy.cluster.version) {
            self.apply(&manifest.node, decoded, file, &mut found);
        }
        let line = manifest.node.mark.line;
        ignores.begin(&found.id);
        let context = self.path_context(file).filter(|_| !self.context.no_ignores);
        let completed = context.and_then(|it| it.completed(manifest, "check"));
        let postpone = |line, cause, why| {
            let mut entry = NotChecked::object(file, line, cause, why);
            entry.is_same = self.previous.has_same(&found.id, file, manifest);
            entry
        };
        let mut postponed = found.moved.take().map(|why| postpone(line, Cause::Partial, why));
        for (violation, mark, _) in &mut found.violations {
            if !is_named && let Some(text) = placeholder_in(violation, *mark, &manifest.node) {
                let why = format!(
                    "{text} seems to be replaced before this is applied; check what is applied"
                );
                postponed.get_or_insert_with(|| postpone(mark.line, Cause::Placeholder, why));
                violation.lower(Mode::Audit, Why::Placeholder(text));
            }
            if let Some(why) = completed.clone().filter(|_| lacks_selector(&violation.finding)) {
                postponed
                    .get_or_insert_with(|| postpone(mark.line, Cause::Kustomization, why.clone()));
                violation.lower(Mode::Audit, Why::Completed(why));
            }
            ignores.apply(violation, *mark);
        }
        let is_denied = found.violations.iter().any(|(it, ..)| it.mode == Mode::Deny);
        if let Some(context) = self.path_context(file).filter(|_| is_denied) {
            found.remarks.extend(context.built((&found.id.kind, &found.id.name), "check"));
        }
        let diagnostics = found.violations.into_iter().map(|(it, mark, related)| {
            let mut diagnostic = Diagnostic::of(it, mark, self.strictness);
            diagnostic.related = related;
            diagnostic
        });
        let report = ObjectReport {
            rendered_from: manifest.rendered_from(),
            diagnostics: diagnostics.collect(),
            remarks: found.remarks,
            ..ObjectReport::of(found.id)
        };
        CheckedObject { report, item: found.item, postponed }
    }

    pub(super) fn path_context(&self, file: &str) -> Option<&PathContext> {
        self.context.paths.get(file)
    }

    fn apply(&self, node: &Node<'_>, decoded: Decoded, file: &str, found: &mut Found) {
        let Decoded { resource, json, problems } = decoded;
        let decodes = problems.is_empty();
        found.violations.extend(problems.into_iter().map(schema));
        let id = found.id.clone();
        let (old_file, old) = self.previous.before(&id, file).unzip();
        let why = match old {
            Some(_) => self.previous.partly_read(&id, file),
            // All pods in the old namespace go.
            None => self.previous.unread(&id, file).or_else(|| self.previous.moved(&id, file)),
        };
        match why {
            Some(why) if !self.policy.limits.is_empty() => found.moved = Some(why),
            why if old.is_some() => found.remarks.extend(why),
            why => found.remarks.extend(self.previous.namesake(&id, node).or(why)),
        }
        if old.is_none() {
            found.remarks.extend(self.previous.unclear(&id, file));
        }
        let proposal = Proposal { id: &id, resource, node, json: &json, old };
        let simulator = Simulator {
            context: Context { file: Some(file), old_file, ..self.context() },
            delivery: &self.delivery,
            storage: &self.context.storage,
            namespaces: &self.context.namespaces,
            old_namespaces: &self.context.old_namespaces,
        };
        // An unknown field doesn't prevent the other checks; a wrong type does.
        simulator.apply(&proposal, |node, outcome| match outcome {
            Outcome::Stored(stored) => self.stored(*stored, node, file, found),
            Outcome::TooLarge(size) => self.too_large(&size, node, file, found),
            Outcome::Undecodable(error) if decodes => {
                found.violations.push(schema(Problem::at(node.mark, error.to_string())));
            }
            Outcome::Undecodable(_) => {}
        });
    }

    fn too_large(&self, size: &ObjectSize, node: &Node<'_>, file: &str, found: &mut Found) {
        let id = &found.id;
        let (old_file, old) = self.previous.before(id, file).unzip();
        let cx = Context { file: Some(file), old_file, ..self.context() };
        let (namespace, name) = (&id.namespace, &id.name);
        let verdict = engine::evaluate_too_large(size, namespace, name, old, &cx);
        self.add(verdict, node, file, found);
    }

    fn stored(&self, stored: Stored<'_>, node: &Node<'_>, file: &str, found: &mut Found) {
        let object = &stored.subject.object;
        // Other objects don't count an object with a deletion timestamp.
        let is_there = object.metadata.deletion_timestamp.is_none();
        let sets_replicas = node.get("spec").and_then(|spec| spec.get("replicas")).is_some();
        let item = is_there.then(|| {
            let item = ObjectSummary::of(object).with_replicas_set(sets_replicas);
            item.with_template(object.template())
        });
        // Keep refusals until the end only if they can matter.
        found.item = item.map(|item| match self.may_refuse() {
            true => item.with_refusals(object.template()),
            false => item,
        });
        self.add(stored.verdict, node, file, found);
        self.add(stored.of_injection, node, file, found);
    }

    fn add(&self, mut verdict: Verdict, node: &Node<'_>, file: &str, found: &mut Found) {
        let id = &found.id;
        self.lower(&mut verdict, file, (&id.kind, &id.name), Some(node));
        found.remarks.extend(verdict.remarks);
        found.violations.extend(verdict.violations.into_iter().map(|violation| {
            let mark = node.locate(violation.finding.place());
            let related = violation.finding.related.iter();
            let related = related
                .filter_map(|it| Some((node.locate_existing(&it.field)?, it.label.to_string())))
                .filter(|(at, _)| *at != mark);
            let related = related.collect();
            (violation, mark, related)
        }));
    }

    /// Lowers warnings to notes if the file path, a kustomization or the object itself justifies them.
    pub(super) fn lower(
        &self,
        verdict: &mut Verdict,
        file: &str,
        (kind, name): (&str, &str),
        node: Option<&Node<'_>>,
    ) {
        if self.context.no_ignores {
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

    pub(crate) const fn previous(&self) -> &'a Inventory {
        &self.previous.inventory
    }

    /// Runs the cross-object rules on all cores. Returns the objects with findings, each with its index in the
    /// inventory.
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
        let no_ignores = self.context.no_ignores;
        Context { no_ignores, ..Context::of_command(self.policy, Origin::Manifest, self.now) }
    }
}

/// Returns whether the API server would reject a set because it has neither a selector nor labels.
fn lacks_selector(Finding { rule, field, .. }: &Finding) -> bool {
    let field = field.to_string();
    *rule == API_VALIDATION
        && (field == "spec.selector" || field == "spec.template.metadata.labels")
}

/// Returns the placeholder that the API server would reject. In a repository, a tool replaces it before apply, so the
/// final object is unchecked.
pub(crate) fn placeholder_in(violation: &Violation, mark: Mark, node: &Node<'_>) -> Option<String> {
    let Finding { rule, field, message, .. } = &violation.finding;
    let is_refusal = violation.mode == Mode::Deny && METAS.contains(rule);
    is_refusal.then(|| placeholder_at(field, message, mark, node)).flatten()
}

/// Returns the placeholder at a field, such as `${REPLICAS}`, `{{replicas}}`, `$(replicas)` or `$REPLICAS`.
pub(crate) fn placeholder_at(
    field: &Field,
    message: &str,
    mark: Mark,
    node: &Node<'_>,
) -> Option<String> {
    // The API server's error names the whole map of labels or the selector, and repeats the value.
    let repeated = message.strip_prefix("Invalid value: ");
    let text = node.text_at(mark).or(repeated).unwrap_or_default();
    placeholder(text, &field.to_string())
}

/// The fields where the kubelet expands `$(NAME)`, or a shell expands `$NAME`. The API server accepts both.
const EXPANDED: [&str; 4] = [".command[", ".args[", ".env[", ".subPathExpr"];

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

/// Returns the first shell variable in a text, such as `$NAMESPACE`.
fn variable(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('$')?;
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = rest.split(|c| !is_in_name(c)).next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then(|| format!("${name}"))
}

fn schema(Problem { field, mark, message, help }: Problem) -> Located {
    let fix = help.as_deref().and_then(meant).map(|it| Fix::rename(field.clone(), it));
    let help = help.map(Into::into);
    let finding = Finding { help, fix, ..Finding::new(SCHEMA, field, Reason::Invalid, message) };
    (Violation::new(finding, SCHEMA.mode), mark, Vec::new())
}

/// Reports a document that is unreadable or not an object. `is_template` means that its source looks like a Helm
/// template.
pub(super) fn syntax(mut problem: Problem, is_template: bool) -> Diagnostic {
    if problem.help.is_none() && is_template {
        let help = "if this is a Helm template, check the rendered chart: \
                    setguard check --chart CHART";
        problem.help = Some(help.to_owned());
    }
    let (violation, mark, _) = schema(problem);
    Diagnostic::of(violation, mark, Strictness::default())
}
