//! A PodDisruptionBudget that allows no eviction although all pods are healthy.

use super::{
    read::one_line,
    rule::{Asked, Check, Found, Report, Rule},
};
use crate::{
    finding::paths::SPEC,
    observed::{Budget, State},
    rules::drains,
};

pub(super) static RULE: Rule =
    Rule { meta: drains::META, kinds: &["StatefulSet"], check: Check::Set(check) };

/// What the spec of the PodDisruptionBudget tells is left to the rule that compares objects.
fn check(asked: &Asked<'_>, found: &mut Found) {
    let State::StatefulSet(set) = &asked.set.state else { return };
    let replicas = i64::from(set.spec.replicas.unwrap_or(1));
    let budgets = asked.audit.observed.budgets(asked.set.namespace());
    let is_stuck = |budget: &&Budget| {
        let (least, most) = (budget.min_available.as_ref(), budget.max_unavailable.as_ref());
        let is_full = budget.expected > 0 && budget.healthy >= budget.expected;
        budget.allowed == 0
            && !budget.is_owned
            && (is_full || budget.failure.is_some())
            && drains::wanted(least, most, replicas).is_none()
    };
    let mut stuck = budgets.iter().filter(is_stuck);
    let Some(budget) = stuck.find(|budget| budget.selects(asked.set.pod_labels())) else { return };
    let Budget { name, expected, .. } = budget;
    let patch = r#"{"spec":{"minAvailable":null,"maxUnavailable":1}}"#;
    let spare = [&**name, "--type", "merge", "-p", patch];
    let (why, help) = match &budget.failure {
        Some(failure) => (
            format!("what it allows cannot be computed: {}", one_line(failure)),
            format!(
                "let it select only pods of controllers that have a scale; {} shows what it selects",
                asked.kubectl().run("describe pdb", &[name])
            ),
        ),
        None => (
            format!("all of its {expected} pods are healthy, and it wants as many"),
            format!("let it spare a pod: {}", asked.kubectl().run("patch pdb", &spare)),
        ),
    };
    let message = format!(
        "its PodDisruptionBudget {name} allows no eviction, so a drain of their nodes never ends: {why}"
    );
    found.add(Report::new(&SPEC.child("replicas"), message, help));
}
