//! The findings of the rules about status on a rollout that does not go on, in the words of the
//! audit.

use kube_yaml::Mark;
use setguard_core::{
    engine::{
        Context, Origin,
        status::{StatusVerdict, evaluate_status},
    },
    observed::WorkloadStatus,
    policy::Policy,
    rules::{
        about_status,
        rule::{StatusCheck, status::ObjectName},
    },
};

use super::obstacle::View;
pub(super) use setguard_files::report::diagnostic::{Diagnostic, Severity, Strictness};

/// The most findings that are shown.
const MOST: usize = 3;

/// Returns the findings in a set, the worst first. The patience does not matter here.
pub(crate) fn of(
    view: &View<'_>,
    set: &WorkloadStatus,
    policy: &Policy,
    context: Option<&str>,
) -> Vec<Diagnostic> {
    let verdicts = evaluate(view, policy, context);
    let verdict = verdicts.into_iter().find(|(name, _)| *name == ObjectName::from(set));
    let verdict = verdict.map(|(_, it)| it.verdict).unwrap_or_default();
    let all = verdict.denials().chain(verdict.warnings()).chain(verdict.audits()).cloned();
    let found = all.map(|it| Diagnostic::of(it, Mark::default(), Strictness::default()));
    let asides = about_status()
        .filter(|rule| matches!(rule.status(), Some((_, StatusCheck::Aside(_)))))
        .map(|rule| rule.meta.id);
    let asides: Vec<_> = asides.collect();
    let is_about_rollouts = |it: &Diagnostic| {
        !asides.contains(&it.rule.id) && (it.severity > Severity::Note || it.downgrade.is_some())
    };
    let mut found: Vec<_> = found.filter(is_about_rollouts).collect();
    found.sort_by_key(|it| std::cmp::Reverse(it.severity));
    found.truncate(MOST);
    found
}

fn evaluate(
    view: &View<'_>,
    policy: &Policy,
    context: Option<&str>,
) -> Vec<(ObjectName, StatusVerdict)> {
    let audit = view.audit(context);
    let cx = Context::of_command(policy, Origin::Cluster, view.now);
    evaluate_status(&audit, &cx).into_iter().collect()
}
