//! All findings, kept until they are written.

use std::sync::Arc;

use setguard_core::rules::rule::Rule;

use super::fingerprint::Fingerprint;
use crate::report::prelude::*;
use crate::{manifests::source::STDIN, prelude::*};

#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    repository: Repository,
    pub(super) policy: Option<PolicyUse>,
    /// The rules that are not off, with their modes.
    pub(super) rules: Vec<(&'static Rule, Mode)>,
    pub(super) files: Vec<File>,
    /// All objects, including those without findings, by their number.
    pub(super) objects: Vec<Object>,
    /// In the order of arrival.
    pub(super) findings: Vec<Entry>,
    /// Remarks about the policy, each with the number of the object that caused it.
    pub(super) remarks: Vec<(usize, String)>,
    pub(super) not_checked: Vec<NotChecked>,
    pub(super) failures: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) summary: Summary,
    pub(super) changes: Option<Changes>,
}

#[derive(Clone, Debug)]
pub(super) struct File {
    /// As the user wrote it.
    pub(super) name: String,
    /// From the root of the repository.
    pub(super) path: String,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) id: Arc<ObjectId>,
    /// The index in `Collected::files`.
    pub(super) file: Option<usize>,
    pub(super) rendered_from: Option<String>,
    pub(super) ready: Option<Ready>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) diagnostic: Diagnostic,
    /// The index in `Collected::objects`. `None` if the document could not be read.
    pub(super) object: Option<usize>,
    /// The index in `Collected::files`.
    pub(super) file: Option<usize>,
    /// The charts and kustomizations that render to the object.
    pub(super) roots: Vec<String>,
}

impl Collected {
    pub(super) fn new(repository: Repository, policy: &Policy) -> Self {
        let modes = catalogue::all().iter().copied().map(|rule| (rule, policy.mode(&rule.meta)));
        Collected {
            repository,
            policy: PolicyUse::of(policy),
            rules: modes.filter(|(_, mode)| *mode != Mode::Off).collect(),
            ..Collected::default()
        }
    }

    pub(super) fn at_least(&self, severity: Severity) -> Cow<'_, Self> {
        if self.findings.iter().all(|entry| entry.diagnostic.severity >= severity) {
            return Cow::Borrowed(self);
        }
        let mut some = self.clone();
        some.findings.retain(|entry| entry.diagnostic.severity >= severity);
        some.summary.hidden.as_unwanted += self.findings.len() - some.findings.len();
        some.summary.found = some.counts();
        Cow::Owned(some)
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.findings.iter().for_each(|entry| counts.add(&entry.diagnostic));
        counts
    }

    /// Sorts by file and line, so that findings of rules about several objects are among the others.
    pub(super) fn in_files(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.findings.iter().collect();
        entries.sort_by_key(|entry| (entry.file, entry.diagnostic.mark));
        entries
    }

    pub(super) fn object(&self, entry: &Entry) -> Option<&ObjectId> {
        self.objects.get(entry.object?).map(|object| &*object.id)
    }

    pub(super) fn file(&self, entry: &Entry) -> Option<&File> {
        self.files.get(entry.file?)
    }

    /// Returns the path from the root of the repository, or `cluster/NAMESPACE/KIND/NAME.yaml` without a file.
    pub(super) fn path(&self, entry: &Entry) -> Option<Cow<'_, str>> {
        if let Some(file) = self.file(entry) {
            return Some(file.path.as_str().into());
        }
        let ObjectId { kind, namespace, name, .. } = self.object(entry)?;
        let folder = if namespace.is_empty() { "" } else { "/" };
        Some(format!("cluster/{namespace}{folder}{kind}/{name}.yaml").into())
    }

    pub(super) fn fingerprint(&self, entry: &Entry) -> Fingerprint {
        let path = self.file(entry).map_or("", |file| &file.path);
        Fingerprint::of(path, self.object(entry), &entry.diagnostic)
    }

    pub(super) fn sentence(&self, entry: &Entry) -> String {
        let mut text = entry.diagnostic.sentence();
        if !entry.roots.is_empty() {
            text.push_str(&format!(" (rendered by {})", entry.roots.join(", ")));
        }
        match self.object(entry) {
            Some(id) => format!("{id}: {text}"),
            None => text,
        }
    }

    /// Returns the remarks, each with the number of its object and a text that names the object.
    pub(super) fn remarked(&self) -> impl Iterator<Item = (usize, &Object, String)> {
        self.remarks.iter().filter_map(|(number, remark)| {
            let object = self.objects.get(*number)?;
            Some((*number, object, format!("{}: {remark}", object.id)))
        })
    }

    pub(super) fn path_of(&self, entry: &NotChecked) -> String {
        path(&self.repository, &entry.file)
    }

    fn file_number(&mut self, source: &Source) -> usize {
        let root = source.rendered().map(Rendered::file);
        let name = root.as_deref().unwrap_or_else(|| source.name());
        if self.files.last().is_none_or(|file| file.name != name) {
            let path = path(&self.repository, name);
            self.files.push(File { name: name.to_owned(), path });
        }
        self.files.len() - 1
    }
}

/// Returns the path of a source in reports and fingerprints.
pub fn path(repository: &Repository, name: &str) -> String {
    // At least make the name look like a path.
    if name == STDIN { "stdin".to_owned() } else { repository.relative(name) }
}

/// The file that represents a chart or a kustomization lacks the lines of the rendered text.
fn in_file(diagnostic: &Diagnostic, source: Option<&Source>) -> Diagnostic {
    let mut diagnostic = diagnostic.clone();
    if source.is_some_and(|it| it.rendered().is_some()) {
        diagnostic.mark = Mark { line: 1, column: 1, width: 0 };
        diagnostic.related.clear();
    }
    diagnostic
}

impl Report for Collected {
    fn object(&mut self, source: Option<&Source>, object: &ObjectReport) -> io::Result<()> {
        let number = object.number;
        if number >= self.objects.len() {
            let file = source.map(|source| self.file_number(source));
            self.objects.push(Object {
                id: Arc::clone(&object.id),
                file,
                rendered_from: object.rendered_from.clone(),
                ready: object.ready,
            });
        }
        let own = self.objects.get(number).and_then(|object| object.file);
        // The findings in a rendered object are in its source files.
        let file = match source {
            Some(source) if !object.roots.is_empty() => Some(self.file_number(source)),
            _ => own,
        };
        self.findings.extend(object.diagnostics.iter().map(|diagnostic| Entry {
            diagnostic: in_file(diagnostic, source),
            object: Some(number),
            file,
            roots: object.roots.clone(),
        }));
        self.remarks.extend(object.remarks.iter().map(|remark| (number, remark.clone())));
        Ok(())
    }

    fn changes(&mut self, changes: &Changes) -> io::Result<()> {
        self.changes = Some(changes.clone());
        Ok(())
    }

    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()> {
        let file = Some(self.file_number(source));
        let diagnostic = in_file(diagnostic, Some(source));
        self.findings.push(Entry { diagnostic, object: None, file, roots: Vec::new() });
        Ok(())
    }

    fn not_checked(&mut self, entries: &[NotChecked]) {
        self.not_checked = entries.to_vec();
    }

    fn failure(&mut self, message: &str) {
        self.failures.push(message.to_owned());
    }

    fn note(&mut self, message: &str) {
        self.notes.push(message.to_owned());
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        self.summary = Summary { found: self.counts(), ..*summary };
        Ok(())
    }
}

impl From<Mode> for Severity {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Off | Mode::Audit => Severity::Note,
            Mode::Warn => Severity::Warning,
            Mode::Deny => Severity::Error,
        }
    }
}
