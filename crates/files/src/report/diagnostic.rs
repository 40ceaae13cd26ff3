//! The contents of a report, independent of its format.

use std::{collections::HashSet, sync::Arc};

use clap::ValueEnum;
use setguard_core::{
    engine::{adjustment::Why, verdict::Violation},
    finding::{Fix, Reason},
    rules::{api_validation, schema::SCHEMA},
    words,
};

use crate::report::prelude::*;
use crate::{exit::Exit, manifests::id::ObjectId};

words! {
    /// The severity of a finding.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
    pub enum Severity {
        /// Worth knowing.
        #[default]
        Note => "note",
        /// Accepted, but not as intended.
        Warning => "warning",
        /// Denied.
        Error => "error",
    }
}

/// The number of findings by severity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
    /// The number of findings that `--fix` removes.
    fixable: usize,
}

impl Counts {
    pub(super) fn add(&mut self, diagnostic: &Diagnostic) {
        let has_fix = diagnostic.fix.as_ref().is_some_and(|fix| fix.is_safe);
        self.fixable += usize::from(has_fix && diagnostic.downgrade.is_none());
        match diagnostic.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }

    pub(super) const fn total(&self) -> usize {
        self.errors + self.warnings + self.notes
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Counts { errors, warnings, notes, fixable: _ } = self;
        let all = [(errors, "error"), (warnings, "warning"), (notes, "note")];
        let some = all.into_iter().filter(|(n, _)| *n > 0);
        let some: Vec<_> = some.map(|(n, one)| count(n, one)).collect();
        f.write_str(if some.is_empty() { "nothing found" } else { "" })?;
        f.write_str(&some.join(", "))
    }
}

/// Returns the name that a help suggests instead of an unknown one.
pub fn meant(help: &str) -> Option<&str> {
    help.strip_prefix("did you mean ")?.strip_suffix('?')
}

/// A finding as a report shows it, with its position in a file and its severity.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: &'static Meta,
    pub severity: Severity,
    /// The mode behind the severity. `--deny-warnings` does not change it.
    pub mode: Mode,
    /// The position in the file.
    pub mark: Mark,
    /// Other positions of the finding, each with its role.
    pub related: Vec<(Mark, String)>,
    /// The field; empty for a document that could not be read.
    pub field: String,
    pub(crate) reason: Reason,
    /// The fault in a few words.
    pub title: String,
    /// The fault in full.
    pub message: String,
    pub help: Option<String>,
    /// The commands that the help contains.
    pub commands: Vec<Command>,
    /// The parts of the message, for a fault in a running cluster.
    pub facts: Option<Box<Facts>>,
    /// The change that removes the fault, if a program can make it.
    pub fix: Option<Fix>,
    /// Whether an exception of the policy makes it less severe.
    pub is_exempt: bool,
    /// The reason why the finding is less severe than the mode of its rule.
    pub downgrade: Option<String>,
    /// The number of earlier findings in the run with the same rule, object and field.
    pub(crate) occurrence: usize,
    /// Whether the text format shows this finding once for all objects that have it.
    pub is_folded: bool,
    /// Whether an earlier audit has found it, if there is one to compare with.
    pub change: Option<Change>,
}

/// A finding that many objects share in the same words.
#[derive(Debug)]
pub struct Folded {
    /// The finding in the first object.
    pub diagnostic: Diagnostic,
    /// The number of objects.
    pub count: usize,
    /// These objects, or the first of them.
    pub first: Vec<Arc<ObjectId>>,
}

/// The strictness of a command, beyond its policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strictness {
    /// Whether warnings are denials.
    pub deny_warnings: bool,
}

impl Diagnostic {
    /// Leaves out errors about a missing field if a misspelt name explains it and is itself an error here.
    pub fn join(all: &mut Vec<Diagnostic>) {
        let meant = |slip: &Diagnostic| {
            let name = meant(slip.help.as_deref()?)?;
            let is_error = slip.severity == Severity::Error && *slip.rule == *SCHEMA;
            let (parent, _) = slip.field.rsplit_once('.').filter(|_| is_error)?;
            Some(format!("{parent}.{name}"))
        };
        let meant: HashSet<String> = all.iter().filter_map(meant).collect();
        all.retain(|it| it.reason != Reason::Required || !meant.contains(&it.field));
    }

    /// Returns an evaluated finding as a report shows it.
    pub fn of(violation: Violation, mark: Mark, strictness: Strictness) -> Self {
        let Violation { finding, mode, adjustments } = violation;
        let is_denied = mode == Mode::Warn && strictness.deny_warnings;
        let severity = if is_denied { Severity::Error } else { mode.into() };
        Diagnostic {
            rule: finding.rule,
            severity,
            mode,
            mark,
            related: Vec::new(),
            field: finding.field.to_string(),
            reason: finding.reason,
            title: match &finding.facts {
                Some(facts) => facts.title.clone(),
                None => api_validation::title(&finding).into_owned(),
            },
            message: finding.message,
            help: finding.help.map(Into::into),
            commands: finding.commands,
            facts: finding.facts,
            fix: finding.fix,
            is_exempt: adjustments.iter().any(|it| matches!(it, Why::Exception(_))),
            downgrade: (!adjustments.is_empty())
                .then(|| adjustments.iter().map(Why::to_string).collect::<Vec<_>>().join("; ")),
            occurrence: 0,
            is_folded: false,
            change: None,
        }
    }

    /// Returns the problem, and the remedy.
    pub fn text(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.clone(),
        }
    }

    /// Returns the whole finding in one sentence that begins with the field.
    pub fn sentence(&self) -> String {
        let mut text = self.text();
        if !self.field.is_empty() {
            text = format!("{}: {text}", self.field);
        }
        if let Some(downgrade) = &self.downgrade {
            text.push_str(&format!(" ({downgrade})"));
        }
        text
    }
}

/// The report on an object.
#[derive(Debug, Default)]
pub struct ObjectReport {
    /// The number of objects that the run evaluated earlier.
    pub number: usize,
    pub id: Arc<ObjectId>,
    /// The file that the object was rendered from, according to the tool that rendered it.
    pub rendered_from: Option<String>,
    /// The charts and kustomizations that render to the object, if setguard renders them.
    pub roots: Vec<String>,
    /// The number of ready Pods, for an object in a cluster.
    pub ready: Option<Ready>,
    pub diagnostics: Vec<Diagnostic>,
    /// Remarks about the policy, not about the object.
    pub remarks: Vec<String>,
}

impl ObjectReport {
    /// Creates an empty report on an object.
    pub fn of(id: impl Into<Arc<ObjectId>>) -> Self {
        ObjectReport { id: id.into(), ..ObjectReport::default() }
    }

    /// Returns the highest severity of a finding.
    pub fn worst(&self) -> Option<Severity> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.severity).max()
    }
}

/// The totals of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The findings that are reported.
    pub found: Counts,
    /// The number of files.
    pub files: usize,
    /// The number of DaemonSets and StatefulSets.
    pub objects: usize,
    /// The number of objects with an error.
    pub denied: usize,
    /// The number of objects with a warning but no error.
    pub warned: usize,
    /// The number of objects with nothing worse than a note.
    pub noted: usize,
    /// The number of objects of other kinds.
    pub others: usize,
    /// The number of documents that could not be read, or that should be objects but aren't.
    pub unreadable: usize,
    /// The number of these documents in files that the user did not name.
    pub unreadable_in_folders: usize,
    /// The number of parts of files that aren't objects and need not be.
    pub passed_over: usize,
    /// The number of files and objects that were not checked and may have a set.
    pub not_checked: usize,
    /// The number of these that the change adds or edits.
    pub changed_unchecked: usize,
    /// Findings that are not reported.
    pub hidden: Hidden,
    /// The sets with neither an error nor a warning, if the objects are a cluster's.
    pub healthy: Option<Healthy>,
    /// Whether parts of the cluster could not be read.
    pub is_incomplete: bool,
    /// Whether parts of the input could not be checked.
    pub has_failed: bool,
}

/// The number of healthy sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Healthy {
    /// DaemonSets.
    pub daemon_sets: usize,
    /// StatefulSets.
    pub stateful_sets: usize,
    /// Sets of both kinds without findings that have not settled yet.
    pub unsettled: usize,
}

/// The number of findings that are not reported, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hidden {
    /// Findings in the baseline.
    pub by_baseline: usize,
    /// Findings that the previous manifests have too.
    pub as_old: usize,
    /// Findings that `--select`, `--ignore` or `--min-severity` leave out.
    pub as_unwanted: usize,
}

impl Summary {
    pub fn count(&mut self, object: &ObjectReport) {
        self.objects += 1;
        if let Some(count) = self.of(object.worst()) {
            *count += 1;
        }
    }

    /// Updates the counts after more was found in an object.
    pub fn count_again(&mut self, before: Option<Severity>, worst: Option<Severity>) {
        if let Some(count) = self.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.of(before.max(worst)) {
            *count += 1;
        }
    }

    fn of(&mut self, worst: Option<Severity>) -> Option<&mut usize> {
        match worst? {
            Severity::Error => Some(&mut self.denied),
            Severity::Warning => Some(&mut self.warned),
            Severity::Note => Some(&mut self.noted),
        }
    }

    /// Returns whether there was nothing to evaluate.
    pub const fn is_empty(&self) -> bool {
        self.objects + self.unreadable == 0
    }

    /// Returns the exit code of the run.
    pub fn exit(&self) -> Exit {
        // The API server would refuse a set in a file that cannot be read.
        let is_denied = self.denied + self.unreadable_in_folders + self.changed_unchecked > 0;
        let denied = if is_denied { Exit::Denied } else { Exit::Clean };
        let has_failed = self.unreadable > self.unreadable_in_folders;
        denied.and(if has_failed { Exit::Error } else { Exit::Clean })
    }
}

/// The summary for people: one line, and a second one about the health of a cluster.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Summary { found, objects, denied, warned, not_checked, hidden, .. } = self;
        let &Summary { others, unreadable, passed_over, has_failed, .. } = self;
        // A format may leave out notes, or warnings too.
        let bad = match found {
            Counts { errors: 0, warnings: 0, notes: 0, .. } => 0,
            Counts { warnings: 0, notes: 0, .. } => denied,
            Counts { notes: 0, .. } => denied + warned,
            _ => denied + warned + self.noted,
        };
        let of = if bad > 0 && objects > 1 { format!("{bad} of ") } else { String::new() };
        if let Some(Healthy { daemon_sets, stateful_sets, unsettled }) = self.healthy {
            writeln!(f, "{found} in {of}{}", count(objects, "object"))?;
            let (daemon_sets, stateful_sets) =
                (count(daemon_sets, "DaemonSet"), count(stateful_sets, "StatefulSet"));
            write!(f, "healthy: {daemon_sets}, {stateful_sets}")?;
            if unsettled > 0 {
                write!(f, "; not settled: {}", count(unsettled, "set"))?;
            }
            return match self.is_incomplete {
                true => write!(f, "\nnot everything could be read, so this is not all"),
                false => Ok(()),
            };
        }
        match has_failed && objects + unreadable == 0 {
            true => write!(f, "nothing was checked")?,
            false => {
                write!(
                    f,
                    "{found} in {of}{} in {}",
                    count(objects, "set"),
                    count(self.files, "file")
                )?;
            }
        }
        let known = count(hidden.by_baseline, "known finding");
        let more = [
            (unreadable, format!("{} not readable", count(unreadable, "document"))),
            (others, format!("{others} of other kinds skipped")),
            (passed_over, format!("{} without an object", count(passed_over, "document"))),
            (not_checked, format!("{not_checked} not checked")),
            (hidden.by_baseline, format!("{known} hidden by the baseline")),
            (hidden.as_old, format!("{} not new", count(hidden.as_old, "finding"))),
            (hidden.as_unwanted, format!("{} not selected", count(hidden.as_unwanted, "finding"))),
        ];
        for (_, text) in more.iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {text}")?;
        }
        if has_failed && objects > 0 {
            write!(f, "; not everything could be checked")?;
        }
        if found.fixable > 0 {
            write!(f, "; {} can be fixed with --fix", found.fixable)?;
        }
        Ok(())
    }
}
