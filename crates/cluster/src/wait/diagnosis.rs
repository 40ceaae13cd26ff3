//! The findings of the status rules explain why a rollout does not continue, with the audit's messages.

use kube_yaml::Mark;
use setguard_core::{
    engine::{Context, Origin, status::evaluate_status},
    rules::{about_status, rule::StatusCheck},
};

use super::decision::View;
use crate::prelude::*;
pub(super) use setguard_files::report::diagnostic::{Diagnostic, Strictness};

#[derive(Debug)]
pub(crate) struct Diagnosis {
    found: BTreeMap<ObjectName, Vec<Diagnostic>>,
    /// The rules about problems that block no rollout.
    asides: BTreeSet<&'static str>,
}

impl Diagnosis {
    /// Evaluates the cluster without the audit's patience: a wait has its own.
    pub(crate) fn of(view: &View<'_>, policy: &Policy, context: Option<&str>) -> Self {
        let audit = Audit {
            observed: view.observed,
            cluster: view.cluster,
            now: view.now,
            patience: SignedDuration::ZERO,
            context,
        };
        let cx = Context::of_command(policy, Origin::Cluster, view.now);
        let found = evaluate_status(&audit, &cx).into_iter().map(|(name, of_status)| {
            let all = of_status.verdict.violations.into_iter();
            let all = all.map(|it| Diagnostic::of(it, Mark::default(), Strictness::default()));
            (
                name,
                all.filter(|it| it.severity > Severity::Note || it.downgrade.is_some()).collect(),
            )
        });
        let is_aside = |check| matches!(check, Some((_, StatusCheck::Aside(_))));
        let asides = about_status().filter(|rule| is_aside(rule.status()));
        Diagnosis { found: found.collect(), asides: asides.map(|rule| rule.meta.id).collect() }
    }

    /// Returns the findings about the rollout of a set; `in_all` includes the findings that do not block it.
    pub(crate) fn about<'a>(
        &'a self,
        view: &'a View<'_>,
        set: &'a WorkloadStatus,
        in_all: bool,
    ) -> impl Iterator<Item = &'a Diagnostic> {
        let own = self.found.get(&ObjectName::from(set)).into_iter().flatten();
        let own = own.filter(move |it| in_all || !self.asides.contains(it.rule.id));
        // A DaemonSet's pod stays on a node that is down.
        let pods = view.observed.pods(set);
        let has_pod = move |it: &&Diagnostic| {
            let names = it.facts.iter().flat_map(|facts| &facts.pods);
            let mut pods = names.filter_map(|name| pods.iter().find(|pod| *pod.name == **name));
            set.kind() == WorkloadKind::DaemonSet && pods.next().is_some()
        };
        let nodes = self.found.iter().filter(|(name, _)| name.kind == Kind::Node);
        own.chain(nodes.flat_map(|(_, found)| found).filter(has_pod))
    }
}
