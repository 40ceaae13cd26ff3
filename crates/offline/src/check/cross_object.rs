//! Findings that need the whole input. The check collects objects as it reads documents, and reports these findings
//! after the last document.

use std::mem;

use setguard_core::{
    inventory::fixed::{Id, Refusals},
    rules::rule::inventory::Coverage,
};

use super::{checked_file::CheckedManifest, ignores::Ignores, manifest_check::Checker};
use crate::prelude::*;

/// The kept parts of the input: a summary of each object, and its source, to read the text again.
#[derive(Debug, Default)]
pub(super) struct CrossObject {
    /// The objects in the cluster. Every other object counts as near them.
    cluster: Inventory,
    /// The kinds with a complete list of the cluster's objects.
    kinds: BTreeSet<Kind>,
    groups: Vec<Members>,
    /// The indices of the groups that may span several files.
    known: HashMap<Group, usize>,
    kept: Vec<Entry>,
    sources: Vec<Option<Source>>,
    ignores: Vec<KeptIgnores>,
    current: usize,
    /// The charts and kustomizations with objects that a different cluster would get in a different API version.
    pub(super) unserved: BTreeSet<String>,
}

/// The objects that are applied together.
#[derive(Debug)]
struct Members {
    group: Group,
    items: Vec<(usize, ObjectSummary)>,
}

/// The comments of a document, kept for later findings.
#[derive(Debug)]
struct KeptIgnores {
    source: usize,
    file: String,
    /// The number of an object in the document.
    number: usize,
    ignores: Ignores,
}

#[derive(Debug)]
struct Entry {
    /// The index of its group, and its index in the group.
    place: (usize, usize),
    source: usize,
    number: usize,
    id: Arc<ObjectId>,
    rendered_from: Option<String>,
    /// The positions of the fields that cross-object rules may report.
    marks: Box<[Mark]>,
    worst: Option<Severity>,
}

impl CrossObject {
    /// Adds an object in the cluster, but no set: that would be checked itself.
    pub(super) fn in_cluster(&mut self, item: ObjectSummary) {
        if !item.is_evaluated() {
            self.kinds.insert(item.kind());
            self.cluster.add(item);
        }
    }

    pub(super) fn begin(&mut self, group: Group) {
        let new = self.groups.len();
        let index = match group {
            Group::Alone => new,
            _ => *self.known.entry(group.clone()).or_insert(new),
        };
        if index == new {
            self.groups.push(Members { group, items: Vec::new() });
        }
        self.current = index;
    }

    /// Adds an object to the current group, and returns its place.
    fn add(&mut self, item: ObjectSummary) -> (usize, usize) {
        let source = self.sources.len();
        let Some(members) = self.groups.get_mut(self.current) else { return (0, 0) };
        members.items.push((source, item));
        (self.current, members.items.len() - 1)
    }

    pub(super) fn checked(&mut self, CheckedManifest { report, item, marks }: CheckedManifest) {
        let Some(item) = item else { return };
        let place = self.add(item);
        self.kept.push(Entry {
            place,
            source: self.sources.len(),
            number: report.number,
            worst: report.worst(),
            id: report.id,
            rendered_from: report.rendered_from,
            marks,
        });
    }

    /// Adds an unchecked object that rules need to check others. If the object comes from a cluster and the user named
    /// its file, the input counts as complete for its kind. In a folder, such an object may belong to a test.
    pub(super) fn related(&mut self, item: ObjectSummary, is_stored: bool) {
        let group = self.groups.get(self.current).map(|it| &it.group);
        if let Some(group @ Group::Rendered { name, .. }) = group
            && item.is_unserved()
            && group.asks_cluster()
        {
            self.unserved.insert(name.clone());
            return;
        }
        let is_named = group == Some(&Group::Named);
        if is_stored && is_named {
            self.in_cluster(item);
        } else {
            self.add(item);
        }
    }

    pub(super) fn ignores(&mut self, file: &str, number: usize, ignores: Ignores) {
        let (source, file) = (self.sources.len(), file.to_owned());
        self.ignores.push(KeptIgnores { source, file, number, ignores });
    }

    /// Adds the source of the preceding objects. For a source that can be read again, keeps only its name.
    pub(super) fn end(&mut self, again: Option<Source>, source: Source) {
        self.sources.push(again.or(Some(source)));
    }

    /// Returns the objects of the previous manifests that pods need and that the input no longer has anywhere.
    fn removed(&self, checker: &Checker<'_>) -> BTreeSet<Id> {
        let items = self.groups.iter().flat_map(|it| &it.items).map(|(_, item)| item);
        let items = items.chain(self.cluster.items().map(|(_, item)| item));
        checker.previous().removed(items)
    }

    /// Runs the cross-object rules. For each object with findings, calls `see` with the findings, the object's source,
    /// and the worst severity reported before.
    pub(super) fn run<E>(
        mut self,
        checker: &Checker<'_>,
        mut see: impl FnMut(&Source, Option<Severity>, &mut ObjectReport) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut found = BTreeMap::new();
        let removed = self.removed(checker);
        let items = self.groups.iter().flat_map(|it| &it.items).map(|(_, item)| item);
        let refusals = Refusals::between(checker.previous(), items);
        for (index, members) in mem::take(&mut self.groups).into_iter().enumerate() {
            let coverage = Coverage {
                kinds: self.kinds.clone(),
                is_whole: members.group.is_whole(),
                is_final: members.group.is_final(),
                // Of other files, only a part may be given.
                removed: if members.group.is_meant() { removed.clone() } else { BTreeSet::new() },
                refusals: refusals.clone(),
            };
            let twice = members.twice();
            for part in members.parts() {
                self.check(part, &coverage, checker, |i, it| _ = found.insert((index, i), it));
            }
            for (i, remark) in twice {
                found.entry((index, i)).or_default().1.remarks.push(remark);
            }
        }
        let mut open: Option<(usize, Source)> = None;
        for kept in mem::take(&mut self.kept) {
            let Some((fields, verdict)) = found.remove(&kept.place) else { continue };
            // Comments have the order of their sources.
            let first = self.ignores.partition_point(|it| it.source < kept.source);
            let own = self.ignores.iter_mut().skip(first);
            let mut own: Vec<_> = own.take_while(|it| it.source == kept.source).collect();
            let diagnostics = verdict.violations.into_iter().map(|mut violation| {
                let mark = kept.mark(&fields, &violation.finding.field);
                own.iter_mut().for_each(|it| it.ignores.apply(&mut violation, mark));
                Diagnostic::of(violation, mark, checker.strictness)
            });
            let mut object = ObjectReport {
                number: kept.number,
                diagnostics: diagnostics.collect(),
                remarks: verdict.remarks,
                rendered_from: kept.rendered_from,
                ..ObjectReport::of(kept.id)
            };
            if open.as_ref().is_none_or(|(index, _)| *index != kept.source) {
                open = self.source(kept.source).map(|source| (kept.source, source.reread()));
            }
            if let Some((_, source)) = &open {
                see(source, kept.worst, &mut object)?;
            }
        }
        let kept = mem::take(&mut self.ignores);
        // A template has an output for each file of values and each release.
        let mut used = HashSet::new();
        for (kept, root) in kept.iter().filter_map(|it| Some((it, self.root_of(it.source)?))) {
            used.extend(kept.ignores.used().map(|(rule, reason)| (root.clone(), rule, reason)));
        }
        for KeptIgnores { source, file, number, mut ignores } in kept {
            let root = self.root_of(source);
            if let Some(root) = &root {
                ignores.retain(|rule, reason| {
                    used.contains(&(root.clone(), rule.to_owned(), reason.to_owned()))
                });
            }
            if let Some(mut object) = ignores.remarks(number) {
                let rendered = self.source(source).filter(|_| root.is_some());
                let source = rendered.unwrap_or_else(|| Source::named(file, String::new()));
                see(&source, None, &mut object)?;
            }
        }
        Ok(())
    }

    /// Returns the file of the chart or kustomization that a source is rendered by.
    fn root_of(&self, index: usize) -> Option<String> {
        Some(self.sources.get(index)?.as_ref()?.rendered()?.file())
    }

    /// Takes a source. Only a rendered source can be taken twice.
    fn source(&mut self, index: usize) -> Option<Source> {
        let source = self.sources.get_mut(index)?;
        let rendered = source.as_ref().filter(|it| it.rendered().is_some());
        rendered.map(Source::copy_of_rendered).or_else(|| source.take())
    }

    /// Runs the rules on objects that are applied together, each with its index in its group. `see` receives the
    /// index, the reportable fields of the object, and the verdict.
    fn check(
        &self,
        part: Vec<(usize, ObjectSummary)>,
        coverage: &Coverage,
        checker: &Checker<'_>,
        mut see: impl FnMut(usize, (Vec<Field>, Verdict)),
    ) {
        // An object without a neighbor can't have a cross-object finding, except about its namespace.
        let is_lonely = part.len() < 2 && self.kinds.is_empty() && !checker.may_refuse();
        if is_lonely || !part.iter().any(|(_, item)| item.is_evaluated()) {
            return;
        }
        let mut inventory = self.cluster.clone();
        let part = without_copies(part).into_iter().map(|(i, item)| (inventory.add(item), i));
        let places: BTreeMap<usize, usize> = part.collect();
        for (place, mut verdict) in checker.check_cross_object(&inventory, coverage) {
            if let (Some(i), Some(item)) = (places.get(&place), inventory.get(place)) {
                if let Some(file) = item.file() {
                    let id = (&*item.kind().to_string(), item.name());
                    checker.lower(&mut verdict, file, id, None);
                }
                see(*i, (item.fields(), verdict));
            }
        }
    }
}

/// Skips each set that recurs unchanged later in its file. A changed copy must not hide findings in an earlier one,
/// whichever is applied last.
fn without_copies(part: Vec<(usize, ObjectSummary)>) -> Vec<(usize, ObjectSummary)> {
    let mut next = HashMap::new();
    let sets = part.iter().rev().filter(|(_, item)| item.is_evaluated());
    let copies = sets.filter_map(|(i, item)| {
        let id = (item.kind(), item.namespace(), item.name());
        let later = next.insert(id, item);
        later.is_some_and(|later| item.is_copy_of(later)).then_some(*i)
    });
    let copies: HashSet<usize> = copies.collect();
    part.into_iter().filter(|(i, _)| !copies.contains(i)).collect()
}

impl Members {
    /// Returns a remark, with the index, for each set that appears twice.
    fn twice(&self) -> Vec<(usize, String)> {
        let mut first = HashMap::new();
        let sets = self.items.iter().enumerate().filter(|(_, (_, item))| item.is_evaluated());
        let twice = sets.filter_map(|(i, (_, item))| {
            let id = (item.kind(), item.namespace(), item.name());
            let earlier = *first.entry(id).or_insert(item);
            let is_twice = !std::ptr::eq(earlier, item) && earlier.is_same(item);
            is_twice.then(|| {
                let remark =
                    format!("{earlier} is the same object: if both are applied, the last one wins");
                (i, remark)
            })
        });
        twice.collect()
    }

    /// Splits the members into parts that are applied together, with their indices. If two files of a folder contain
    /// the same object, the files are alternatives and never applied together.
    fn parts(self) -> Vec<Vec<(usize, ObjectSummary)>> {
        let mut first = HashMap::new();
        let has_alternatives = matches!(self.group, Group::Folder(_) | Group::Cluster(_))
            && self.items.iter().any(|(source, item)| {
                let id = (item.kind(), item.namespace(), item.name());
                *first.entry(id).or_insert(*source) != *source
            });
        let mut parts: BTreeMap<usize, Vec<(usize, ObjectSummary)>> = BTreeMap::new();
        for (i, (source, item)) in self.items.into_iter().enumerate() {
            let part = if has_alternatives { source } else { 0 };
            parts.entry(part).or_default().push((i, item));
        }
        parts.into_values().collect()
    }
}

impl Entry {
    fn mark(&self, fields: &[Field], field: &Field) -> Mark {
        let index = fields.iter().position(|own| own == field);
        index.and_then(|index| self.marks.get(index)).copied().unwrap_or_default()
    }
}
