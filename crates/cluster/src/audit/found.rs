use kube_yaml::Mark;
use setguard_core::{
    engine::{self, status::StatusVerdict, verdict::Verdict},
    inventory::view::View,
    observed::Ready,
};

use super::evaluator::{Alone, Evaluator};
use crate::prelude::*;
use setguard_files::prelude::*;
use setguard_files::report::diagnostic::Healthy;

#[derive(Debug, Default)]
pub(super) struct Found {
    entries: BTreeMap<ObjectName, Entry>,
    pub(super) view: View,
    strictness: Strictness,
}

#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) remarks: Vec<String>,
    item: Option<usize>,
    /// Whether the verdict is incomplete without the set's claims and volumes.
    lacks_storage: bool,
    /// `None` if the status is out of date.
    ready: Option<Ready>,
    /// Whether the status is out of date, or shows an unhealthy set.
    is_unsettled: bool,
}

impl Found {
    pub(super) fn new(strictness: Strictness) -> Self {
        Found { strictness, ..Found::default() }
    }

    /// Replaces the findings for a set. Ignores a new set: the audit read the other objects before the set existed.
    pub(super) fn alone_again(&mut self, alone: Alone) {
        if self.entries.contains_key(&alone.name) {
            self.alone(alone);
        }
    }

    pub(super) fn alone(&mut self, alone: Alone) {
        let Alone { name, verdict, item, lacks_storage } = alone;
        let mut entry = Entry { lacks_storage, ..Entry::default() };
        entry.add(verdict, self.strictness);
        let inventory = &mut self.view.inventory;
        entry.item = match (self.entries.get(&name).and_then(|before| before.item), item) {
            (None, Some(item)) => Some(inventory.add(item)),
            (before, _) => before,
        };
        self.entries.insert(name, entry);
    }

    pub(super) fn namespaces_without_storage(&self) -> Vec<String> {
        let lacking = self.entries.iter().filter(|(_, entry)| entry.lacks_storage);
        let mut namespaces: Vec<_> = lacking.map(|(name, _)| name.namespace.to_string()).collect();
        namespaces.dedup();
        namespaces
    }

    pub(super) fn together(&mut self, evaluator: &Evaluator<'_>) {
        let cx = evaluator.context();
        for entry in self.entries.values_mut() {
            let item = entry.item.and_then(|index| self.view.inventory.get(index));
            if let Some(item) = item.filter(|item| !item.is_terminating) {
                entry.add(engine::evaluate_stored(item, &self.view, &cx), self.strictness);
            }
        }
    }

    pub(super) fn status(&mut self, audit: &Audit<'_>, evaluator: &Evaluator<'_>) {
        for (name, of_status) in engine::status::evaluate_status(audit, &evaluator.context()) {
            let StatusVerdict { verdict, instead_of } = of_status;
            let entry = self.entries.entry(name).or_default();
            entry.diagnostics.retain(|diagnostic| !instead_of.contains(&diagnostic.rule.id));
            entry.add(verdict, self.strictness);
        }
        for set in audit.observed.sets() {
            if let Some(entry) = self.entries.get_mut(&ObjectName::from(set)) {
                entry.is_unsettled = set.is_unobserved()
                    || set.is_being_deleted()
                    || !audit.observed.is_healthy(set);
                entry.ready = (!set.is_unobserved()).then(|| set.ready());
            }
        }
    }

    /// Keeps only the findings about these sets and the nodes of their pods. Returns a message for each set that does
    /// not exist.
    pub(super) fn keep(
        &mut self,
        sets: &[Named],
        namespace: &str,
        observed: &Observed,
    ) -> Vec<String> {
        let is_named = |kind: Kind, at: &str, name: &str| {
            at == namespace && sets.iter().any(|it| Kind::from(it.kind) == kind && it.name == name)
        };
        let kept =
            observed.sets().filter(|set| is_named(set.kind().into(), set.namespace(), set.name()));
        let nodes: BTreeSet<&str> =
            kept.flat_map(|set| observed.pods(set)).filter_map(|pod| pod.node.as_deref()).collect();
        self.entries.retain(|name, _| {
            is_named(name.kind, &name.namespace, &name.name)
                || name.kind == Kind::Node && nodes.contains(&*name.name)
        });
        let exists = |named: &&Named| {
            let mut names = self.entries.keys();
            names.any(|it| it.kind == named.kind.into() && *it.name == *named.name)
        };
        let absent = sets.iter().filter(|it| !exists(it));
        absent.map(|it| format!("there is no {} {namespace}/{}", it.kind, it.name)).collect()
    }

    /// Counts the sets that have neither an error nor a warning.
    pub(super) fn healthy(&self) -> Healthy {
        let is_fine = |entry: &Entry| entry.worst().is_none_or(|worst| worst == Severity::Note);
        let mut healthy = Healthy::default();
        for (name, entry) in self.entries.iter().filter(|(_, entry)| is_fine(entry)) {
            match name.kind {
                Kind::DaemonSet | Kind::StatefulSet if entry.is_unsettled => healthy.unsettled += 1,
                Kind::DaemonSet => healthy.daemon_sets += 1,
                Kind::StatefulSet => healthy.stateful_sets += 1,
                _ => {}
            }
        }
        healthy
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&ObjectName, &Entry)> {
        self.entries.iter()
    }

    /// Returns a report for each object, the worst first.
    pub(super) fn reports(self) -> Vec<ObjectReport> {
        let reports = self.entries.into_iter().map(|(name, mut entry)| {
            // Problems that have happened come before problems that may happen.
            entry
                .diagnostics
                .sort_by_key(|it| std::cmp::Reverse((it.severity, it.facts.is_some())));
            let mut report = ObjectReport::of(ObjectId {
                api_version: name.api_version.to_owned(),
                kind: name.kind.to_string(),
                namespace: name.namespace.to_string(),
                name: name.name.into(),
                is_generated: false,
            });
            report.diagnostics = entry.diagnostics;
            report.remarks = entry.remarks;
            report.ready = entry.ready;
            report
        });
        worst_first(reports.collect())
    }
}

/// Sorts reports: cluster-scoped objects first, then the namespaces with the worst findings. The same order applies
/// within a namespace. Folded findings do not count.
pub(super) fn worst_first(reports: Vec<ObjectReport>) -> Vec<ObjectReport> {
    let mut namespaces: BTreeMap<String, Vec<ObjectReport>> = BTreeMap::new();
    for report in reports {
        namespaces.entry(report.id.namespace.clone()).or_default().push(report);
    }
    let badness = |report: &ObjectReport| {
        let shown = report.diagnostics.iter().filter(|it| !it.is_folded);
        let count = |severity| shown.clone().filter(|it| it.severity == severity).count();
        let all = [Severity::Error, Severity::Warning, Severity::Note].map(count);
        let is_outage = report.ready.is_some_and(Ready::is_outage) && all[0] > 0;
        let errors = shown.clone().filter(|it| it.severity == Severity::Error);
        let happened = errors.filter(|it| it.facts.is_some()).count();
        [usize::from(is_outage), happened, all[0], all[1], all[2]]
    };
    let mut namespaces: Vec<_> = namespaces.into_values().collect();
    for reports in &mut namespaces {
        reports.sort_by_key(|report| std::cmp::Reverse(badness(report)));
    }
    // Both sorts are stable, so equal entries stay in alphabetical order.
    namespaces.sort_by_key(|reports| {
        let sum = reports
            .iter()
            .map(badness)
            .fold([0; 5], |sum: [usize; 5], it| std::array::from_fn(|i| sum[i] + it[i]));
        // A node that is down, or a webhook, can explain findings in sets.
        let is_of_cluster = reports.first().is_some_and(|it| it.id.namespace.is_empty());
        std::cmp::Reverse((is_of_cluster, sum))
    });
    let mut reports: Vec<_> = namespaces.into_iter().flatten().collect();
    reports.iter_mut().enumerate().for_each(|(number, report)| report.number = number);
    reports
}

impl Entry {
    fn add(&mut self, verdict: Verdict, strictness: Strictness) {
        let violations = verdict.violations.into_iter();
        self.diagnostics
            .extend(violations.map(|it| Diagnostic::of(it, Mark::default(), strictness)));
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
