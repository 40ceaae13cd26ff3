//! A source and all its findings, as the threads return them.

use std::sync::{Arc, OnceLock};

use kube_yaml::{Document, Documents, Mark, Problem};
use setguard_core::{finding::Field, inventory::object_summary::ObjectSummary};

use super::{
    fix,
    ignores::Ignores,
    manifest_check::{self, CheckedObject, Checker},
};
use setguard_files::manifests::{layout, not_a_manifest::has_open_place, not_checked};
use setguard_files::prelude::*;

/// The bytes of a stream that a thread checks at a time.
pub(super) const PART: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct CheckedSource {
    pub(super) source: Source,
    /// The unread source, to read it again. `None` if that is impossible.
    pub(super) again: Option<Source>,
    /// The findings. `None` if the source is so long that its parts are checked one by one, to save memory.
    pub(super) all: Option<CheckedPart>,
}

#[derive(Debug, Default)]
pub(super) struct CheckedPart {
    pub(super) contents: Vec<Content>,
    pub(super) others: usize,
    /// The number of skipped parts that need not be objects.
    pub(super) passed_over: usize,
    /// Why an unreadable part is skipped, and its place and message.
    pub(super) broken: Option<(Broken, String)>,
    is_listed: bool,
}

/// A text whose documents several threads check at the same time.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    file: Arc<str>,
    group: &'a Group,
    namespace: Option<&'a str>,
    is_template: OnceLock<bool>,
    importance: OnceLock<Broken>,
    may_have_set: OnceLock<bool>,
}

#[derive(Debug)]
pub(super) enum Content {
    /// An unreadable document, or one that should be an object but isn't.
    Unreadable(Diagnostic),
    /// An unchecked object that rules need to check others, and whether it comes from a cluster.
    Related(ObjectSummary, bool),
    /// An object that is not checked, or not checked as it will be applied.
    NotChecked(NotChecked),
    /// The comments of a document, after the objects that they cover.
    Ignores(Ignores),
    /// An object that was checked.
    Checked(Box<CheckedManifest>),
}

#[derive(Debug)]
pub(super) struct CheckedManifest {
    pub(super) report: ObjectReport,
    /// The summary for the cross-object rules, if the object is readable.
    pub(super) item: Option<ObjectSummary>,
    pub(super) marks: Box<[Mark]>,
}

impl CheckedSource {
    /// Reads a source and checks its documents, unless the source is long.
    pub(super) fn of(
        source: Source,
        checker: &Checker<'_>,
        fixes_files: bool,
    ) -> Result<Self, FileError> {
        // `None` for a read-once source: the first look has already read it.
        let again = source.unread();
        let has_fixes = fixes_files && again.is_some();
        let source = source.read()?;
        let is_long = source.text().len() > 2 * PART;
        let all = (!is_long).then(|| {
            let documents = kube_yaml::documents(source.text());
            Reader::of(&source).check_with_fixes(documents, checker, has_fixes)
        });
        Ok(CheckedSource { source, again, all })
    }
}

impl<'a> Reader<'a> {
    pub(super) fn of(source: &'a Source) -> Self {
        Reader {
            text: source.text(),
            file: source.name().into(),
            namespace: source.namespace(None),
            group: source.group(),
            is_template: OnceLock::new(),
            importance: OnceLock::new(),
            may_have_set: OnceLock::new(),
        }
    }

    /// Like [`Self::check`], with those fixes that `--fix` would make.
    pub(super) fn check_with_fixes(
        &self,
        documents: Documents<'_>,
        checker: &Checker<'_>,
        has_fixes: bool,
    ) -> CheckedPart {
        let mut part = self.check(documents.clone(), checker);
        if !has_fixes {
            return part;
        }
        let checked = part.contents.iter_mut().filter_map(|it| match it {
            Content::Checked(manifest) => Some(&mut manifest.report.diagnostics),
            _ => None,
        });
        let file = (&*self.file, self.group.is_meant());
        fix::verify(documents, file, checked.flatten(), checker);
        part
    }

    pub(super) fn check(&self, documents: Documents<'_>, checker: &Checker<'_>) -> CheckedPart {
        let mut part = CheckedPart::default();
        for document in documents {
            match document {
                Ok(document) => self.add(document, checker, &mut part),
                Err(problem) => match self.importance() {
                    Broken::Error => {
                        let diagnostic = manifest_check::syntax(problem, self.is_template());
                        part.contents.push(Content::Unreadable(diagnostic));
                    }
                    importance => self.pass_over(&problem, importance, checker, &mut part),
                },
            }
        }
        part
    }

    fn add(&self, document: Document<'_>, checker: &Checker<'_>, part: &mut CheckedPart) {
        let mut ignores = checker.ignores(&document);
        let is_named = matches!(self.group, Group::Named);
        let objects = DocumentObjects::of(document, self.group.is_meant());
        let objects = objects.in_namespace(self.namespace.or(checker.namespace()));
        part.others += objects.others.len();
        part.passed_over += objects.passed_over;
        part.contents.extend(objects.unread().map(|it| {
            Content::NotChecked(NotChecked::object(&self.file, it.line, it.cause, it.why))
        }));
        let context = checker.path_context(&self.file);
        if context.is_some_and(|it| it.chart.is_some()) {
            // Values can look like an object without an apiVersion. kubectl applies neither.
            part.passed_over += objects.strays.len();
        } else {
            part.contents.extend(objects.strays.iter().map(|problem| {
                Content::Unreadable(manifest_check::syntax(problem.clone(), self.is_template()))
            }));
        }
        part.contents.extend(objects.related().filter_map(|node| {
            let mut item = ObjectSummary::of_json(&node.to_json())?;
            item.set_location(self.file.clone(), node.mark.line);
            let is_stored = node.get("metadata").and_then(|it| it.get("uid")).is_some();
            Some(Content::Related(item, is_stored))
        }));
        for manifest in &objects.manifests {
            if let Some(why) = context.and_then(|it| it.partial(manifest)) {
                let line = manifest.node.mark.line;
                let entry = NotChecked::object(&self.file, line, Cause::Partial, why.clone());
                part.contents.push(Content::NotChecked(entry));
                continue;
            }
            let checked = checker.check(manifest, &self.file, is_named, &mut ignores);
            part.contents.extend(checked.postponed.clone().map(Content::NotChecked));
            let checked = CheckedManifest::of(checked, manifest, &self.file);
            part.contents.push(Content::Checked(Box::new(checked)));
        }
        if !ignores.is_empty() && !objects.manifests.is_empty() {
            part.contents.push(Content::Ignores(ignores));
        }
    }

    fn pass_over(
        &self,
        Problem { mark, message, .. }: &Problem,
        importance: Broken,
        checker: &Checker<'_>,
        part: &mut CheckedPart,
    ) {
        if part.is_listed || part.broken.is_some() {
            return;
        }
        let chart = checker.path_context(&self.file).and_then(|it| it.chart.as_ref());
        let may_have_set =
            || not_checked::may_have_set(self.text) || chart.is_none() && has_open_place(self.text);
        if *self.may_have_set.get_or_init(may_have_set) {
            part.is_listed = true;
            let (cause, why) = match chart {
                Some(chart) => (Cause::Chart, layout::render(chart)),
                None => (Cause::Unreadable, format!("it cannot be read: {message}")),
            };
            let entry = NotChecked::object(&self.file, mark.line, cause, why);
            part.contents.push(Content::NotChecked(entry));
        } else {
            part.broken = Some((importance, format!("{}:{}: {message}", self.file, mark.line)));
        }
    }

    fn is_template(&self) -> bool {
        *self.is_template.get_or_init(|| self.text.contains("{{"))
    }

    fn importance(&self) -> Broken {
        *self.importance.get_or_init(|| Broken::of(self.text, self.group))
    }
}

impl CheckedManifest {
    fn of(checked: CheckedObject, manifest: &Manifest<'_>, file: &Arc<str>) -> Self {
        let mut item = checked.item;
        let fields: Vec<Field> = item.as_ref().map(ObjectSummary::fields).unwrap_or_default();
        if let Some(item) = &mut item {
            item.set_location(file.clone(), manifest.node.mark.line);
        }
        let marks = fields.iter().map(|field| manifest.node.locate(field)).collect();
        CheckedManifest { report: checked.report, item, marks }
    }
}
