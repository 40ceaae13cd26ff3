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
    rules::rule::status::ObjectName,
};

use super::obstacle::View;
pub(super) use setguard_files::report::diagnostic::{Diagnostic, Severity, Strictness};

/// The rules about conditions that keep no rollout from its end.
const OTHERS: [&str; 8] = [
    "claim-left-behind",
    "claim-size-differs",
    "claim-terminating",
    "misscheduled",
    "node-not-wanted",
    "pdb-blocks-drain",
    "revision-left-behind",
    "revision-orphan",
];
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
    let is_about_rollouts = |it: &Diagnostic| {
        !OTHERS.contains(&it.rule.id) && (it.severity > Severity::Note || it.downgrade.is_some())
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
