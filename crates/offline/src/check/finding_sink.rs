//! The sink for all findings, on one thread and in order: it numbers and counts them, and passes them to the reports.

use super::{
    known_findings::{Known, KnownArgs},
    rendered::RenderedFindings,
    selection::Selection,
};
use crate::prelude::*;
use setguard_files::report::{collected, reports};

pub(super) struct FindingSink {
    pub(super) summary: Summary,
    pub(super) progress: Progress,
    pub(super) known: Known,
    pub(super) selection: Selection,
    /// Whether fixes are for files, so that a finding elsewhere has none.
    pub(super) fixes_files: bool,
    /// Files in folders that aren't manifests and aren't readable as such.
    pub(super) strangers: Vec<String>,
    /// Unchecked parts of the input that may contain a set.
    pub(super) not_checked: Vec<NotChecked>,
    /// The unreadable places in folders' files that have no set.
    pub(super) broken: Vec<String>,
    repository: Repository,
    occurrences: Occurrences,
    pub(super) reports: Reports,
    rendered: RenderedFindings,
    /// The findings in rendered objects that the policy exempts, each by rule, kind and field without keys.
    exempt: HashSet<(&'static str, String, String)>,
    /// Why parts of the input could not be checked. Printed last, where people look.
    pub(super) failures: Vec<String>,
}

impl FindingSink {
    pub(super) fn new(
        repository: Repository,
        reports: Reports,
        known: Known,
        progress: Progress,
    ) -> Self {
        FindingSink {
            summary: Summary::default(),
            progress,
            known,
            selection: Selection::default(),
            fixes_files: false,
            strangers: Vec::new(),
            not_checked: Vec::new(),
            broken: Vec::new(),
            repository,
            occurrences: Occurrences::default(),
            reports,
            rendered: RenderedFindings::default(),
            exempt: HashSet::new(),
            failures: Vec::new(),
        }
    }

    pub(super) fn failure(&mut self, message: &str) {
        self.reports.record_failure(message);
        self.failures.push(message.to_owned());
        self.summary.has_failed = true;
    }

    pub(super) fn unreadable(
        &mut self,
        source: &Source,
        mut diagnostic: Diagnostic,
    ) -> io::Result<()> {
        self.summary.unreadable += 1;
        self.summary.unreadable_in_folders += usize::from(!source.is_named());
        let path = collected::path(&self.repository, source.name());
        self.number_one(source, &path, None, &mut diagnostic);
        let mut reports = self.reports.all();
        self.progress.aside(|| reports.try_for_each(|it| it.unreadable(source, &diagnostic)))
    }

    pub(super) fn object(&mut self, source: &Source, object: &mut ObjectReport) -> io::Result<()> {
        object.number = self.summary.objects;
        self.keep_exempt(source, object);
        self.number(source, object);
        self.summary.count(object);
        self.report(source, object)
    }

    /// Records more findings in an object. `before` is the worst severity so far.
    pub(super) fn more(
        &mut self,
        source: &Source,
        before: Option<Severity>,
        object: &mut ObjectReport,
    ) -> io::Result<()> {
        self.keep_exempt(source, object);
        self.number(source, object);
        self.summary.count_again(before, object.worst());
        self.report(source, object)
    }

    /// Keeps only the exempt findings of a kustomization that is rendered although a different one takes it: only its
    /// own exceptions count, because the other one may complete its objects.
    fn keep_exempt(&mut self, source: &Source, object: &mut ObjectReport) {
        let Some(rendered) = source.rendered() else { return };
        let kind = &object.id.kind;
        let key = |it: &Diagnostic| {
            let names = it.field.split(['[', ']']).step_by(2);
            (it.rule.id, kind.clone(), names.collect::<String>())
        };
        if rendered.is_part() {
            object.diagnostics.retain(|it| self.exempt.contains(&key(it)));
        } else {
            self.exempt.extend(object.diagnostics.iter().filter(|it| it.is_exempt).map(key));
        }
    }

    fn number_one(
        &mut self,
        source: &Source,
        path: &str,
        object: Option<&ObjectId>,
        diagnostic: &mut Diagnostic,
    ) {
        let of = |it: &Rendered| (it.file(), it.name());
        let (folder, variant) = source.rendered().map(of).unwrap_or_default();
        self.occurrences.number_in((&folder, &variant), path, object, diagnostic);
    }

    pub(super) fn not_checked(&mut self, source: &Source, entry: NotChecked) {
        self.not_checked.push(entry.found_in(source));
    }

    fn report(&mut self, source: &Source, object: &ObjectReport) -> io::Result<()> {
        let without = source.rendered().map(|it| self.rendered.take(it, source, object));
        let object = without.as_ref().unwrap_or(object);
        if object.diagnostics.is_empty() && object.remarks.is_empty() {
            return self.reports.object(Some(source), object);
        }
        self.progress.aside(|| self.reports.object(Some(source), object))
    }

    fn number(&mut self, source: &Source, object: &mut ObjectReport) {
        if object.diagnostics.is_empty() && self.known.baseline.is_none() {
            return;
        }
        let path = collected::path(&self.repository, source.name());
        let is_file = !self.fixes_files || source.unread().is_some();
        for diagnostic in &mut object.diagnostics {
            diagnostic.fix = diagnostic.fix.take().filter(|_| is_file);
            self.number_one(source, &path, Some(&object.id), diagnostic);
        }
        // The baseline and the old findings are complete, whatever is reported.
        self.known.apply(source, &path, object);
        self.known.hidden.as_unwanted += self.selection.apply(object);
        Diagnostic::join(&mut object.diagnostics);
        object.diagnostics.sort_by_key(|it| it.mark);
    }

    /// Returns the JSON report, its findings in the same order, and the failures.
    pub(super) fn into_json(mut self) -> io::Result<(Vec<u8>, Vec<Diagnostic>, Vec<String>)> {
        report(&mut self.not_checked, &mut self.summary, &mut self.reports);
        let (report, findings) = self.reports.into_json(&self.summary)?;
        Ok((report, findings, self.failures))
    }

    pub(super) fn finish(mut self, args: &KnownArgs) -> anyhow::Result<Exit> {
        drop(self.progress);
        self.rendered.finish(&mut self.reports)?;
        match &self.strangers[..] {
            [] => {}
            [file] => report::note(&format!("skipped {file}: not a Kubernetes object")),
            [first, ..] => report::note(&format!(
                "skipped {} files that aren't Kubernetes objects, such as {first}",
                self.strangers.len()
            )),
        }
        match &self.broken[..] {
            [] => {}
            [place] => report::note(&format!(
                "skipped a file that can't be read and has no DaemonSet and no StatefulSet: {place}"
            )),
            [first, ..] => report::note(&format!(
                "skipped {} files that can't be read and have no DaemonSet and no StatefulSet, such as \
                 {first}",
                self.broken.len()
            )),
        }
        self.summary.hidden = self.known.hidden;
        report(&mut self.not_checked, &mut self.summary, &mut self.reports);
        let on_stdout = self.reports.on_stdout();
        let finished = self.reports.finish(&self.summary);
        self.failures.iter().for_each(|message| reports::print_failure(on_stdout, message));
        finished?;
        let failed = if self.failures.is_empty() { Exit::Clean } else { Exit::Error };
        let exit = self.summary.exit().and(failed);
        let is_complete = exit != Exit::Error && self.summary.unreadable == 0;
        Ok(exit.and(self.known.finish(args, is_complete)?))
    }
}

fn report(not_checked: &mut Vec<NotChecked>, summary: &mut Summary, reports: &mut Reports) {
    not_checked.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    not_checked.dedup();
    summary.not_checked = not_checked.len();
    summary.changed_unchecked = not_checked.iter().filter(|it| it.is_changed).count();
    reports.all().for_each(|it| it.not_checked(not_checked));
}
