//! The findings in a text in an editor, and the changes that the editor offers.
//!
//! The check treats the text like a file of a folder in `setguard check FOLDER`: it ignores text that isn't a
//! Kubernetes object, compares the objects of the text with each other, and concludes nothing from a missing object,
//! because a different file may contain it.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
};

pub use super::fix::Edit;
use setguard_core::{
    finding::Mode,
    policy::{FolderNames, Policy},
};

use super::{
    checked_file::{Content, Reader},
    cross_object::CrossObject,
    fix, ignores,
    manifest_check::{Checker, InputContext},
    old_manifests::{self, OldManifests},
};
use crate::proposal::apply::Delivery;
pub use setguard_files::{
    manifests::{clusters::Clusters, group::Group, path_context::PathContext, source::Source},
    report::diagnostic::{Diagnostic, Strictness},
};

/// A text in an editor.
#[derive(Clone, Copy, Debug)]
pub struct EditorText<'a> {
    /// The name in messages.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// The policy for the text.
    pub policy: &'a Policy,
    /// Facts about the file from its path.
    pub context: Option<&'a PathContext>,
    /// The earlier content to compare with.
    pub earlier: &'a Earlier,
}

/// The earlier content of a file. By default there is none, and every object is new.
#[derive(Debug, Default)]
pub struct Earlier(OldManifests);

impl Earlier {
    /// Reads a file as `--against-ref` does. Also returns the reasons for a failure; every object is then new.
    pub fn at(reference: &str, file: &Path) -> (Self, Vec<String>) {
        let (commit, paths) = (Some(old_manifests::commit(reference)), [PathBuf::from(file)]);
        let settings = (&Clusters::default(), &FolderNames::new());
        let mut old = OldManifests::read(&[], commit, &paths, settings, None, None);
        let failures = std::mem::take(&mut old.failures);
        (Earlier(old), failures)
    }
}

/// The findings in a text.
#[derive(Debug, Default)]
pub struct Findings {
    /// The findings, in text order.
    pub diagnostics: Vec<Diagnostic>,
    /// Remarks about the policy and about comments, with the line if one applies.
    pub remarks: Vec<(Option<usize>, String)>,
}

impl EditorText<'_> {
    /// Checks the text.
    pub fn findings(&self) -> Findings {
        self.with_checker(|checker| self.check(checker))
    }

    fn check(&self, checker: &Checker<'_>) -> Findings {
        let mut found = Findings::default();
        let source = Source::of(self.name.to_owned(), self.text.to_owned(), Group::Alone);
        let mut cross_object = CrossObject::default();
        cross_object.begin(source.group().clone());
        for content in Reader::of(&source).check_all(checker).contents {
            match content {
                Content::Unreadable(diagnostic) => found.diagnostics.push(diagnostic),
                Content::Related(item, is_stored) => cross_object.related(item, is_stored),
                // An editor shows templates and patches too, and blocks no change.
                Content::NotChecked(_) => {}
                Content::Ignores(ignores) => cross_object.ignores(self.name, 0, ignores),
                Content::Checked(mut manifest) => {
                    found.diagnostics.append(&mut manifest.report.diagnostics);
                    found.remark(&mut manifest.report.remarks);
                    cross_object.checked(*manifest);
                }
            }
        }
        cross_object.end(None, source);
        let done: Result<(), Infallible> = cross_object.run(checker, |_, _, object| {
            found.diagnostics.append(&mut object.diagnostics);
            found.remark(&mut object.remarks);
            Ok(())
        });
        match done {
            Ok(()) => found.diagnostics.sort_by_key(|it| it.mark),
        }
        found
    }

    /// Returns the edits that fix a finding, and whether they are safe. `None` if no automatic fix exists.
    pub fn fix(&self, finding: &Diagnostic) -> Option<(Vec<Edit>, bool)> {
        finding.fix.as_ref()?;
        self.with_checker(|checker| fix::one(self.text, self.name, finding, checker))
    }

    /// Returns the text after all safe fixes. `None` if no fix applies.
    pub fn fix_all(&self) -> Option<String> {
        self.with_checker(|checker| fix::all(self.text, self.name, checker))
    }

    /// Returns the edit that adds a comment which exempts a finding. `None` for a denial, or if the text has no place
    /// for the comment.
    pub fn exempt(&self, finding: &Diagnostic) -> Option<Edit> {
        let is_exempted = finding.downgrade.is_some();
        // JSON has no comments.
        if finding.mode != Mode::Warn || is_exempted || self.text.trim_start().starts_with('{') {
            return None;
        }
        let line = self.text.split_inclusive('\n').nth(finding.mark.line.checked_sub(1)?)?;
        let start = line.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        let content = line.trim_end_matches(['\r', '\n']);
        let line_break = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let indent: String = content.chars().take_while(|it| *it == ' ').collect();
        let comment = ignores::comment(finding.rule.id);
        let above = Edit { bytes: start..start, with: format!("{indent}{comment}{line_break}") };
        let end = start + content.len();
        let behind = Edit { bytes: end..end, with: format!(" {comment}") };
        let open = self.with_checker(|checker| self.open(self.text, checker));
        // Some lines can't have a comment, such as a line of a block scalar.
        [above, behind].into_iter().find(|edit| {
            let (before, after) = self.text.split_at(edit.bytes.start);
            let text = format!("{before}{}{after}", edit.with);
            let mut now = self.with_checker(|checker| self.open(&text, checker));
            let gone = (finding.rule.id, finding.field.clone());
            now.push(gone);
            now.sort_unstable();
            now == open
        })
    }

    fn open(&self, text: &str, checker: &Checker<'_>) -> Vec<(&'static str, String)> {
        let found = EditorText { text, ..*self }.check(checker).diagnostics.into_iter();
        let open = found.filter(|it| it.downgrade.is_none());
        let mut open: Vec<_> = open.map(|it| (it.rule.id, it.field)).collect();
        open.sort_unstable();
        open
    }

    fn with_checker<T>(&self, use_it: impl FnOnce(&Checker<'_>) -> T) -> T {
        let mut context = InputContext::default();
        context.add(self.text);
        let facts = self.context.map(|it| (self.name.to_owned(), it.clone()));
        context.paths.extend(facts);
        context.old_namespaces.clone_from(&self.earlier.0.namespaces);
        let (delivery, strictness) = (Delivery::default(), Strictness::default());
        use_it(&Checker::new(self.policy, &self.earlier.0.objects, delivery, context, strictness))
    }
}

impl Findings {
    fn remark(&mut self, remarks: &mut Vec<String>) {
        let remarks = remarks.drain(..).map(|remark| (ignores::line_of(&remark), remark));
        self.remarks.extend(remarks);
    }
}
