//! What was found, object by object.

use std::collections::BTreeMap;

use super::judge::{Alone, Judge};
use crate::{
    engine::{self, status::StatusVerdict, verdict::Verdict},
    inventory::view::View,
    manifests::id::ObjectId,
    report::diagnostic::{Diagnostic, Healthy, ObjectReport, Severity, Strictness},
    rules::rule::status::{Audit, ObjectName},
    yaml::Mark,
};

/// What was found, and the objects among which it was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    entries: BTreeMap<ObjectName, Entry>,
    pub(super) view: View,
}

/// What was found in an object.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) remarks: Vec<String>,
    /// Its index in the inventory.
    item: Option<usize>,
    /// Whether its claims and volumes would have to be known.
    lacks_storage: bool,
}

impl Found {
    /// The same for a set that has been judged before. A new one is left alone: what it needs was read
    /// before it came.
    pub(super) fn alone_again(&mut self, alone: Alone) {
        if self.entries.contains_key(&alone.name) {
            self.alone(alone);
        }
    }

    /// Adds a set that was judged alone, in place of what was found in it before.
    pub(super) fn alone(&mut self, alone: Alone) {
        let Alone { name, verdict, item, lacks_storage } = alone;
        let mut entry = Entry { lacks_storage, ..Entry::default() };
        entry.add(verdict);
        let inventory = &mut self.view.inventory;
        entry.item = match (self.entries.get(&name).and_then(|before| before.item), item) {
            (None, Some(item)) => Some(inventory.add(item)),
            (before, _) => before,
        };
        self.entries.insert(name, entry);
    }

    /// The namespaces of sets whose claims and volumes would have to be known.
    pub(super) fn namespaces_without_storage(&self) -> Vec<String> {
        let lacking = self.entries.iter().filter(|(_, entry)| entry.lacks_storage);
        let mut namespaces: Vec<_> = lacking.map(|(name, _)| name.namespace.to_string()).collect();
        namespaces.dedup();
        namespaces
    }

    /// Judges all sets together.
    pub(super) fn together(&mut self, judge: &Judge<'_>) {
        let cx = judge.context();
        for entry in self.entries.values_mut() {
            let item = entry.item.and_then(|index| self.view.inventory.get(index));
            if let Some(item) = item.filter(|item| !item.is_terminating) {
                entry.add(engine::evaluate_stored(item, &self.view, &cx));
            }
        }
    }

    /// Judges the status of all sets.
    pub(super) fn status(&mut self, audit: &Audit<'_>, judge: &Judge<'_>) {
        for (name, of_status) in engine::status::evaluate_status(audit, &judge.context()) {
            let StatusVerdict { verdict, instead_of } = of_status;
            let entry = self.entries.entry(name).or_default();
            entry.diagnostics.retain(|diagnostic| !instead_of.contains(&diagnostic.rule.id));
            entry.add(verdict);
        }
    }

    /// How many sets have neither an error nor a warning.
    pub(super) fn healthy(&self) -> Healthy {
        let sets = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.worst().is_none_or(|worst| worst == Severity::Note));
        let mut healthy = Healthy::default();
        for (name, _) in sets {
            match name.kind {
                "DaemonSet" => healthy.daemon_sets += 1,
                "StatefulSet" => healthy.stateful_sets += 1,
                _ => {}
            }
        }
        healthy
    }

    /// Everything by object, in alphabetical order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&ObjectName, &Entry)> {
        self.entries.iter()
    }

    /// A report on each object: first the namespaces in which the worst was found, and in each the
    /// objects and the findings in this order.
    pub(super) fn worst_first(self) -> Vec<ObjectReport> {
        let mut namespaces: BTreeMap<Box<str>, Vec<ObjectReport>> = BTreeMap::new();
        for (name, mut entry) in self.entries {
            entry.diagnostics.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
            let mut report = ObjectReport::of(ObjectId {
                api_version: name.api_version.to_owned(),
                kind: name.kind.to_owned(),
                namespace: name.namespace.to_string(),
                name: name.name.into(),
                is_generated: false,
            });
            report.diagnostics = entry.diagnostics;
            report.remarks = entry.remarks;
            namespaces.entry(name.namespace).or_default().push(report);
        }
        let badness = |report: &ObjectReport| {
            let count =
                |severity| report.diagnostics.iter().filter(|it| it.severity == severity).count();
            [count(Severity::Error), count(Severity::Warning), count(Severity::Note)]
        };
        let mut namespaces: Vec<_> = namespaces.into_values().collect();
        for reports in &mut namespaces {
            reports.sort_by_key(|report| std::cmp::Reverse(badness(report)));
        }
        // Both sorts keep the alphabetical order of what is equally bad.
        namespaces.sort_by_key(|reports| {
            let sum = reports
                .iter()
                .map(badness)
                .fold([0; 3], |sum, it| [sum[0] + it[0], sum[1] + it[1], sum[2] + it[2]]);
            std::cmp::Reverse(sum)
        });
        let mut reports: Vec<_> = namespaces.into_iter().flatten().collect();
        reports.iter_mut().enumerate().for_each(|(number, report)| report.number = number);
        reports
    }
}

impl Entry {
    fn add(&mut self, verdict: Verdict) {
        let strictness = Strictness::default();
        let judged = verdict.violations.into_iter();
        self.diagnostics.extend(
            judged.filter_map(|judged| Diagnostic::of(judged, Mark::default(), strictness)),
        );
        for remark in verdict.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }

    pub(super) fn worst(&self) -> Option<Severity> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.severity).max()
    }
}
