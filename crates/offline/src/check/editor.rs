//! The findings in a text in an editor, and the changes that the editor offers.
//!
//! The check treats the text like a file of a folder in `setguard check FOLDER`: it ignores text that isn't a
//! Kubernetes object, compares the objects of the text with each other, and concludes nothing from a missing object,
//! because a different file may contain it.

use std::{cell::OnceCell, convert::Infallible};

pub use super::fix::Edit;

use super::{
    checked_file::{Content, Reader},
    cross_object::CrossObject,
    fix::{self, Part},
    ignores::{self, Ignores},
    manifest_check::{Checker, InputContext},
    old_manifests::OldManifests,
};
use crate::prelude::*;
use crate::{plan, proposal::apply::Delivery};

/// A text in an editor.
#[derive(Clone, Copy, Debug)]
pub struct EditorText<'a> {
    /// The name in messages.
    pub name: &'a str,
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
        let (commit, paths) =
            (Some(Commit::find_start("--against-ref", reference)), [PathBuf::from(file)]);
        let settings = (&Exclude::default(), &Clusters::default(), &FolderNames::new());
        let mut old = OldManifests::read(&[], commit, &paths, settings, None, None);
        old.notes.iter().for_each(|it| report::note(it));
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
    /// The text after all safe fixes, once it was asked for.
    pub fixed: OnceCell<Option<String>>,
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
        let documents = kube_yaml::documents(self.text);
        for content in Reader::of(&source).check(documents, checker).contents {
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
        let Ok::<_, Infallible>(()) = cross_object.run(checker, |_, _, object| {
            found.diagnostics.append(&mut object.diagnostics);
            found.remark(&mut object.remarks);
            Ok(())
        });
        found.diagnostics.sort_by_key(|it| it.mark);
        found
    }

    /// Returns where each object that differs from the earlier content begins, and what the change does to its pods.
    pub fn consequences(&self) -> Vec<(Mark, String)> {
        let [before] = &self.earlier.0.sources[..] else { return Vec::new() };
        let named = |name: &str, text: &str| Source::named(name.to_owned(), text.to_owned());
        let (new, none) = (named(self.name, self.text), named("", ""));
        let (sources, policy) = ([new, named(before.name(), before.text()), none], self.policy);
        let changed = plan::Texts { sources, policy, never_ready: Vec::new() }.consequences();
        let documents = kube_yaml::documents(self.text).filter_map(Result::ok);
        let objects = documents.flat_map(|it| ManifestObject::all(it.root));
        let places = objects.map(|it| (ObjectId::of(&it.node), it.node.mark));
        let places: HashMap<_, _> = places.collect();
        let placed = changed.into_iter().filter_map(|(id, text)| Some((*places.get(&id)?, text)));
        placed.collect()
    }

    /// Returns the edits that fix each finding, and whether they are safe. `None` if no automatic fix exists.
    pub fn fixes(&self, findings: &[&Diagnostic]) -> Vec<Option<(Vec<Edit>, bool)>> {
        let fix = |finding: &&Diagnostic, checker: &Checker<'_>| {
            finding.fix.as_ref()?;
            fix::one(self.text, self.name, finding, checker)
        };
        self.with_checker(|checker| findings.iter().map(|it| fix(it, checker)).collect())
    }

    /// Returns the text after all safe fixes. `None` if no fix applies.
    pub fn fix_all(&self) -> Option<String> {
        self.with_checker(|checker| fix::all(self.text, self.name, checker))
    }

    /// Returns the edit that adds a comment which exempts a finding, and none of the others in the text. `None` for a
    /// denial, or if the text has no place for the comment.
    pub fn exempt(&self, finding: &Diagnostic, all: &[Diagnostic]) -> Option<Edit> {
        let is_open = |it: &Diagnostic| it.mode == Mode::Warn && it.downgrade.is_none();
        // JSON has no comments.
        if !is_open(finding) || self.text.trim_start().starts_with('{') {
            return None;
        }
        let Part { text, start, lines } = Part::around(self.text, finding.mark.line)?;
        let number = finding.mark.line - lines;
        let line = text.split_inclusive('\n').nth(number.checked_sub(1)?)?;
        let at = line.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let content = line.trim_end_matches(['\r', '\n']);
        let line_break = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let indent: String = content.chars().take_while(|it| *it == ' ').collect();
        let comment = ignores::comment(finding.rule.id);
        let above = Edit { bytes: at..at, with: format!("{indent}{comment}{line_break}") };
        let end = at + content.len();
        let behind = Edit { bytes: end..end, with: format!(" {comment}") };
        let of_rule = all.iter().filter(|it| it.rule.id == finding.rule.id && is_open(it));
        let of_rule: Vec<_> = of_rule.map(|it| it.mark.line.saturating_sub(lines)).collect();
        let (objects, _) = read(text)?;
        // Some lines can't have a comment, such as a line of a block scalar.
        let edit = [(above, 1), (behind, 0)].into_iter().find_map(|(edit, added)| {
            let (before, after) = text.split_at(edit.bytes.start);
            let (same, ignores) = read(&format!("{before}{}{after}", edit.with))?;
            let is_covered = |line: &&usize| {
                let line = **line + if **line < number { 0 } else { added };
                ignores.iter().any(|it| it.cover(finding.rule.id, line))
            };
            let covered: Vec<_> = of_rule.iter().filter(is_covered).collect();
            (same == objects && covered == [&number]).then_some(edit)
        })?;
        let bytes = edit.bytes.start + start..edit.bytes.end + start;
        Some(Edit { bytes, ..edit })
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

/// Returns the documents of a text as JSON, and their comments. `None` if one cannot be read.
fn read(text: &str) -> Option<(Vec<String>, Vec<Ignores>)> {
    let documents = kube_yaml::documents(text);
    documents.map(|it| it.ok().map(|it| (it.root.to_json(), Ignores::of(&it)))).collect()
}

impl Findings {
    fn remark(&mut self, remarks: &mut Vec<String>) {
        let remarks = remarks.drain(..).map(|remark| (ignores::line_of(&remark), remark));
        self.remarks.extend(remarks);
    }
}
