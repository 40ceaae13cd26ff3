//! Findings that need the whole input: objects are collected while documents are read, and the
//! findings are reported after the last one.

use std::{io, mem};

use super::{checked::CheckedManifest, checker::Checker, ignores::Ignores, ledger::Ledger};
use crate::{
    finding::Field,
    inventory::{Inventory, item::Item},
    manifests::{id::ObjectId, source::Source},
    report::diagnostic::{Diagnostic, ObjectReport, Severity},
    yaml::Mark,
};

/// The retained parts of the input: a summary of each object, and its source for reading the text
/// again.
#[derive(Debug, Default)]
pub(super) struct CrossObject {
    inventory: Inventory,
    /// The entries of the checked objects in the inventory, in its order.
    kept: Vec<Entry>,
    sources: Vec<Option<Source>>,
    ignores: Vec<KeptIgnores>,
}

/// The comments of a document, which may be about findings that are still to come.
#[derive(Debug)]
struct KeptIgnores {
    source: usize,
    /// The name of the source.
    file: String,
    /// The number of an object of the document.
    number: usize,
    ignores: Ignores,
}

/// An object that was already checked alone.
#[derive(Debug)]
struct Entry {
    /// The index in the inventory.
    place: usize,
    source: usize,
    /// The number in the reports.
    number: usize,
    id: ObjectId,
    rendered_from: Option<String>,
    /// The positions of the fields in which cross-object rules may find more.
    marks: Box<[Mark]>,
    /// The worst severity that has been reported so far.
    worst: Option<Severity>,
}

impl CrossObject {
    /// Adds an object that was checked and reported.
    pub(super) fn checked(&mut self, CheckedManifest { report, item, marks }: CheckedManifest) {
        let Some(item) = item else { return };
        self.kept.push(Entry {
            place: self.inventory.add(item),
            source: self.sources.len(),
            number: report.number,
            worst: report.worst(),
            id: report.id,
            rendered_from: report.rendered_from,
            marks,
        });
    }

    /// Adds an object that is not checked itself, but that rules need to check others.
    pub(super) fn related(&mut self, item: Item) {
        self.inventory.add(item);
    }

    /// Adds the comments of a document. `number` is the number of one of its objects.
    pub(super) fn ignores(&mut self, file: &str, number: usize, ignores: Ignores) {
        let (source, file) = (self.sources.len(), file.to_owned());
        self.ignores.push(KeptIgnores { source, file, number, ignores });
    }

    /// Adds the source of the objects that were added since the previous source. If it can be read
    /// again, only its name is kept.
    pub(super) fn source(&mut self, again: Option<Source>, source: Source) {
        self.sources.push(again.or(Some(source)));
    }

    /// Runs the cross-object rules and reports the findings.
    pub(super) fn report(mut self, checker: &Checker<'_>, ledger: &mut Ledger) -> io::Result<()> {
        let mut verdicts = checker.check_cross_object(&self.inventory);
        let mut open: Option<(usize, Source)> = None;
        for kept in mem::take(&mut self.kept) {
            let Some(verdict) = verdicts.remove(&kept.place) else { continue };
            let fields = self.inventory.get(kept.place).map(Item::fields).unwrap_or_default();
            let diagnostics = verdict.violations.into_iter().filter_map(|violation| {
                let mark = kept.mark(&fields, &violation.finding.field);
                Diagnostic::of(violation, mark, checker.strictness)
            });
            let mut object = ObjectReport {
                number: kept.number,
                diagnostics: diagnostics.collect(),
                remarks: verdict.remarks,
                rendered_from: kept.rendered_from,
                ..ObjectReport::of(kept.id)
            };
            // The comments are in the order of their sources.
            let first = self.ignores.partition_point(|it| it.source < kept.source);
            let own = self.ignores.iter_mut().skip(first);
            for it in own.take_while(|it| it.source == kept.source) {
                it.ignores.apply(&mut object);
            }
            if open.as_ref().is_none_or(|(index, _)| *index != kept.source) {
                let source = self.sources.get_mut(kept.source).and_then(Option::take);
                open = source.map(|source| (kept.source, source.reread()));
            }
            if let Some((_, source)) = &open {
                ledger.more(source, kept.worst, &mut object)?;
            }
        }
        for KeptIgnores { file, number, ignores, .. } in self.ignores {
            if let Some(mut object) = ignores.remarks(number) {
                ledger.more(&Source::of(file, String::new(), true), None, &mut object)?;
            }
        }
        Ok(())
    }
}

impl Entry {
    fn mark(&self, fields: &[Field], field: &Field) -> Mark {
        let index = fields.iter().position(|own| own == field);
        index.and_then(|index| self.marks.get(index)).copied().unwrap_or_default()
    }
}
