use setguard_core::finding::{Change, Fix};

use super::{
    change,
    edit::{self, Edit, Texts},
    part::Part,
};
use crate::check::{manifest_check::Checker, selection::Selection};
use crate::prelude::*;
pub(super) use setguard_files::{
    manifests::document::DocumentObjects,
    report::diagnostic::{Diagnostic, Severity},
};

pub(super) struct Fixer<'j> {
    checker: &'j Checker<'j>,
    selection: &'j Selection,
    /// The name of the file, and whether the user named it.
    file: &'j str,
    pub(super) is_named: bool,
    pub(super) with_unsafe: bool,
    only: Option<BTreeSet<Place>>,
    /// The changes that failed verification, to skip.
    refused: BTreeSet<FindingKey>,
}

#[derive(Debug, Default)]
pub(super) struct Fixed {
    pub(super) text: String,
    pub(super) count: usize,
    pub(super) not_safe: BTreeSet<&'static str>,
    /// The lines and rules of the findings that have no fix although their rules usually offer one.
    pub(super) left: Vec<(usize, &'static str)>,
}

/// The number of the document, the number of the object in the document, the rule and the field.
type FindingKey = (usize, usize, &'static str, String);

/// The rule, field and position of a finding.
pub(super) type Place = (&'static str, String, Mark);

struct Try {
    key: FindingKey,
    mark: Mark,
    is_safe: bool,
    /// The path of the object in its document.
    at: Field,
    change: Change,
    edits: Vec<Edit>,
}

#[derive(Default)]
struct Read {
    /// The documents as JSON, or why one is unreadable.
    documents: Vec<Result<serde_json::Value, String>>,
    /// The number of findings by object, rule and severity.
    found: BTreeMap<(usize, usize, &'static str, Severity), usize>,
    tries: Vec<Try>,
    left: Vec<(usize, &'static str)>,
}

impl<'j> Fixer<'j> {
    /// Creates a fixer for a file in a folder. Makes only safe changes.
    pub(super) const fn new(
        checker: &'j Checker<'j>,
        selection: &'j Selection,
        file: &'j str,
    ) -> Self {
        let refused = BTreeSet::new();
        let (is_named, with_unsafe) = (false, false);
        Fixer { checker, selection, file, is_named, with_unsafe, only: None, refused }
    }

    /// Returns the edits that fix a single finding, and whether they are safe. `None` if the finding has no fix, or if
    /// the edits fail verification.
    pub(super) fn one(
        mut self,
        part: &Part<'_>,
        finding: &Diagnostic,
    ) -> Option<(Vec<Edit>, bool)> {
        self.with_unsafe = true;
        self.only = Some(BTreeSet::from([part.place(finding)]));
        let mut read = self.read(part.text);
        let tries = std::mem::take(&mut read.tries);
        self.try_all(part.text, &read, &tries)?;
        let Try { mut edits, is_safe, .. } = tries.into_iter().next()?;
        for Edit { bytes, .. } in &mut edits {
            *bytes = bytes.start + part.start..bytes.end + part.start;
        }
        Some((edits, is_safe))
    }

    /// Makes all changes that pass verification. Each part is verified alone, so the time is linear.
    pub(super) fn fix(mut self, text: &str) -> Fixed {
        let (mut all, mut end, mut lines) = (Fixed::default(), 0, 0);
        for Part { text: part, start, .. } in Part::all(text) {
            // Nothing but a byte order mark is between parts.
            all.text.push_str(text.get(end..start).unwrap_or_default());
            end = start + part.len();
            let Fixed { text, count, not_safe, left } = self.fix_part(part);
            all.text.push_str(&text);
            all.count += count;
            all.not_safe.extend(not_safe);
            let left = left.into_iter().map(|(line, rule)| (lines + line, rule));
            all.left.extend(left);
            lines += text.matches('\n').count();
            self.refused.clear();
        }
        all
    }

    /// Returns the findings whose fixes pass verification. Verifies one finding of each object at a time, for all
    /// objects together.
    pub(super) fn verified(mut self, text: &str, mut open: BTreeSet<Place>) -> BTreeSet<Place> {
        let mut good = BTreeSet::new();
        loop {
            self.only = Some(open.clone());
            let mut read = self.read(text);
            let tries = std::mem::take(&mut read.tries);
            if tries.is_empty() {
                return good;
            }
            self.add_good(text, &read, &tries, &mut good);
            for place in tries.iter().map(Try::place) {
                open.remove(&place);
            }
        }
    }

    fn add_good(&self, text: &str, before: &Read, tries: &[Try], good: &mut BTreeSet<Place>) {
        if self.try_all(text, before, tries).is_some() {
            good.extend(tries.iter().map(Try::place));
        } else if tries.len() > 1 {
            let (first, second) = tries.split_at(tries.len() / 2);
            self.add_good(text, before, first, good);
            self.add_good(text, before, second, good);
        }
    }

    fn fix_part(&mut self, text: &str) -> Fixed {
        let mut fixed = Fixed { text: text.to_owned(), ..Fixed::default() };
        let mut read = self.read(&fixed.text);
        while !read.tries.is_empty() {
            // Try all changes together first, since most texts accept all; otherwise the first one alone.
            let tries = std::mem::take(&mut read.tries);
            let tried = self.try_all(&fixed.text, &read, &tries).map(|it| (it, tries.len()));
            let tried = tried.or_else(|| {
                let (first, _) = tries.split_at_checked(1)?;
                self.try_all(&fixed.text, &read, first).map(|it| (it, 1))
            });
            if let Some(((text, now), count)) = tried {
                fixed.text = text;
                let not_safe = tries.iter().take(count).filter(|it| !it.is_safe);
                fixed.not_safe.extend(not_safe.map(|it| it.key.2));
                fixed.count += count;
                read = now;
                // A change can make room for one that failed before, such as a different item of its list, so a second
                // run never does more. Each change removes a finding and adds none, so the loop ends.
                if !self.refused.is_empty() {
                    self.refused.clear();
                    read = self.read(&fixed.text);
                }
            } else {
                self.refused.extend(tries.into_iter().take(1).map(|it| it.key));
                read = self.read(&fixed.text);
            }
        }
        fixed.left = read.left;
        fixed
    }

    /// Returns the changed text with its content, if the changes have exactly their intended effect.
    fn try_all(&self, text: &str, before: &Read, tries: &[Try]) -> Option<(String, Read)> {
        let edits = tries.iter().flat_map(|it| it.edits.clone()).collect();
        let text = edit::apply(text, edits)?;
        let after = self.read(&text);
        let mut wanted = before.documents.clone();
        for Try { key, at, change, .. } in tries {
            let document = wanted.get_mut(key.0)?.as_mut().ok()?;
            change::apply(change, document.pointer_mut(&at.pointer())?)?;
        }
        let is_more =
            |(key, count): (_, &usize)| *count > before.found.get(key).copied().unwrap_or(0);
        let is_less = tries.iter().all(|Try { key: (document, object, rule, _), .. }| {
            let key = |severity| (*document, *object, *rule, severity);
            let own = key(Severity::Note)..=key(Severity::Error);
            let count =
                |read: &Read| read.found.range(own.clone()).map(|(_, it)| it).sum::<usize>();
            count(&after) < count(before)
        });
        let is_good = after.documents == wanted && is_less && !after.found.iter().any(is_more);
        is_good.then_some((text, after))
    }

    /// Reads and checks a text, and looks for one change in each of its objects.
    fn read(&self, text: &str) -> Read {
        let mut read = Read::default();
        let mut texts = None;
        for (number, document) in kube_yaml::documents(text).enumerate() {
            let document = match document {
                Ok(document) => document,
                Err(problem) => {
                    read.documents.push(Err(problem.message));
                    continue;
                }
            };
            read.documents
                .push(serde_json::from_str(&document.root.to_json()).map_err(|e| e.to_string()));
            let mut ignores = self.checker.ignores(&document);
            let objects = DocumentObjects::of(document, self.is_named);
            let objects = objects.in_namespace(self.checker.namespace()).manifests;
            for (object_number, manifest) in objects.iter().enumerate() {
                // As if the user named the file, because placeholders then lower no finding that the fixer counts.
                let report = self.checker.check(manifest, self.file, true, &mut ignores).report;
                let mut is_tried = false;
                for diagnostic in report.diagnostics {
                    let (rule, severity) = (diagnostic.rule.id, diagnostic.severity);
                    *read.found.entry((number, object_number, rule, severity)).or_default() += 1;
                    let Some(fix) = self.fix_of(&diagnostic) else { continue };
                    let place = (rule, diagnostic.field.clone(), diagnostic.mark);
                    if self.only.as_ref().is_some_and(|it| !it.contains(&place)) {
                        continue;
                    }
                    let (change, is_safe) = (change::in_object(fix, &manifest.node), fix.is_safe);
                    let key = (number, object_number, rule, diagnostic.field.clone());
                    let texts = texts.get_or_insert_with(|| {
                        kube_yaml::spans(text).map(|spans| Texts::new(text, spans))
                    });
                    let edits = texts.as_ref().and_then(|it| it.edits(&change, &manifest.node));
                    match edits.filter(|_| !self.refused.contains(&key)) {
                        Some(edits) if !is_tried => {
                            is_tried = true;
                            let at = manifest.at.clone();
                            read.tries.push(Try {
                                key,
                                mark: diagnostic.mark,
                                is_safe,
                                at,
                                change,
                                edits,
                            });
                        }
                        None if is_safe => read.left.push((diagnostic.mark.line, rule)),
                        // An unsafe change is only shown, so an impossible one needs no message.
                        _ => {}
                    }
                }
            }
        }
        read
    }

    /// Returns the fix of a finding. `None` for an exempted finding, because its value is intended.
    fn fix_of<'d>(&self, diagnostic: &'d Diagnostic) -> Option<&'d Fix> {
        let fix = diagnostic.fix.as_ref().filter(|fix| fix.is_safe || self.with_unsafe);
        fix.filter(|_| diagnostic.downgrade.is_none() && self.selection.has(diagnostic.rule.id))
    }
}

impl Try {
    fn place(&self) -> Place {
        (self.key.2, self.key.3.clone(), self.mark)
    }
}
