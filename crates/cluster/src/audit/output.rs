use jiff::Timestamp;
use setguard_files::prelude::*;
use setguard_files::report::diagnostic::Folded;

use super::{
    AuditArgs,
    against::EarlierReport,
    fold, found,
    metrics::Metrics,
    scan::{Missing, Seen},
    webhook_health::WebhookHealth,
};
use crate::prelude::Named;

pub(super) struct Output<'a> {
    pub(super) args: &'a AuditArgs,
    /// Empty for all.
    pub(super) namespaces: &'a [String],
    pub(super) begun: Timestamp,
    pub(super) reports: Reports,
    pub(super) metrics: Option<Metrics>,
    pub(super) earlier: Option<EarlierReport>,
}

impl Output<'_> {
    pub(super) fn write(mut self, seen: Seen, guard: WebhookHealth) -> anyhow::Result<Exit> {
        let Seen { found, missing, .. } = seen;
        let mut summary = Summary { healthy: Some(found.healthy()), ..Summary::default() };
        summary.is_incomplete = missing.is_incomplete;
        let exit = self.unread(&missing, &guard);
        for problem in &guard.problems {
            self.reports.failure(problem);
        }
        let unguarded = if guard.problems.is_empty() { Exit::Clean } else { Exit::Denied };
        let mut objects = found.reports();
        let changes = self.earlier.take().map(|earlier| {
            let is_complete = missing.has_all_sets() && !missing.is_incomplete;
            let unread: Vec<String> =
                missing.noted().chain(missing.forbidden()).chain(guard.notes).collect();
            earlier.compare(&mut objects, is_complete, &unread, |it| self.is_audited(it))
        });
        let folded = fold::fold(&mut objects);
        // What is folded stands elsewhere.
        let mut objects = found::worst_first(objects);
        let mut occurrences = Occurrences::default();
        for object in &mut objects {
            for diagnostic in &mut object.diagnostics {
                occurrences.number("", Some(&object.id), diagnostic);
            }
            summary.count(object);
            self.metrics.iter().for_each(|metrics| metrics.count(object));
        }
        self.reports.all().try_for_each(|it| it.overview(&summary, &objects))?;
        let is_fault_of_cluster = |it: &&Folded| {
            let is_of_cluster = it.first.iter().all(|id| id.namespace.is_empty());
            is_of_cluster && it.diagnostic.severity > Severity::Note
        };
        let (mut worst, rest): (Vec<_>, Vec<_>) = folded
            .iter()
            .partition(|it| it.diagnostic.severity == Severity::Error || is_fault_of_cluster(it));
        worst.sort_by_key(|it| !is_fault_of_cluster(it));
        worst.into_iter().try_for_each(|it| self.reports.all().try_for_each(|to| to.folded(it)))?;
        objects.iter().try_for_each(|object| self.reports.object(None, object))?;
        rest.into_iter().try_for_each(|it| self.reports.all().try_for_each(|to| to.folded(it)))?;
        changes.iter().try_for_each(|it| self.reports.all().try_for_each(|to| to.changes(it)))?;
        self.reports.finish(&summary)?;
        if let Some(metrics) = self.metrics
            && missing.failures.is_empty()
        {
            let ended = Timestamp::now();
            metrics.write(ended.duration_since(self.begun), ended)?;
        }
        Ok(if self.args.exit_zero { exit } else { exit.and(unguarded).and(summary.exit()) })
    }

    fn unread(&mut self, missing: &Missing, guard: &WebhookHealth) -> Exit {
        let mut exit = Exit::Clean;
        missing.noted().for_each(|note| self.reports.note(&note));
        for note in missing.forbidden().chain(guard.notes.iter().cloned()) {
            if self.args.strict {
                exit = Exit::Error;
                self.reports.failure(&note);
            } else {
                self.reports.note(&note);
            }
        }
        for failure in &missing.failures {
            exit = Exit::Error;
            self.reports.failure(failure);
        }
        exit
    }

    fn is_audited(&self, earlier: &Earlier) -> bool {
        let (object, sets) = (&earlier.object, &self.args.sets);
        let is_here = self.namespaces.is_empty() || self.namespaces.contains(&object.namespace);
        let is = |it: &Named| it.kind.as_str() == object.kind && it.name == object.name;
        is_here && (sets.is_empty() || sets.iter().any(is))
    }
}
