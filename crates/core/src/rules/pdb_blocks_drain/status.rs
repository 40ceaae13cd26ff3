//! A PodDisruptionBudget that allows no eviction although all pods are healthy.

use crate::rules::prelude::*;
use crate::{
    observed::{PodDisruptionBudget, StatefulSet},
    rules::neighbors::budgets,
};

pub(super) const SCOPE: Scope =
    Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Aside(check) };

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let WorkloadState::StatefulSet(set) = &query.set.state else { return };
    let budgets = query.audit.observed.budgets(query.set.namespace());
    let mut stuck = budgets.iter().filter(|budget| is_stuck(budget, set));
    let Some(budget) = stuck.find(|budget| budget.selects(query.set.pod_labels())) else { return };
    let PodDisruptionBudget { name, expected, .. } = budget;
    let (why, help) = match &budget.failure {
        Some(failure) => (
            format!("what it allows cannot be computed: {}", one_line(failure)),
            let_it_select_these(query, set, budget),
        ),
        None => {
            let patch = r#"{"spec":{"minAvailable":null,"maxUnavailable":1}}"#;
            let spare = query.kubectl().patches("pdb", name, patch);
            (
                format!("all of its {expected} pods are healthy, and it requires all of them"),
                Help::say("let it allow one disruption: ").run(spare),
            )
        }
    };
    let facts = Facts::title(format!("PodDisruptionBudget {name} allows no eviction"))
        .cause(why)
        .effect("a drain of their nodes never ends".to_owned());
    // The rule that compares objects does not know the pods of other controllers.
    let path = SPEC.child("replicas");
    found.add(StatusFinding::new(&path, facts, help).instead_of(Some("pdb-blocks-drain")));
}

/// The budget allows no eviction, and will not allow one. The rule that compares objects reports a spec that requires
/// all pods of the set, unless the budget protects other pods too: that rule cannot count them.
fn is_stuck(budget: &PodDisruptionBudget, set: &StatefulSet) -> bool {
    // A failure leaves the generation as it was.
    let is_current = budget.is_current || budget.failure.is_some();
    if budget.allowed > 0 || budget.is_owned || !is_current {
        return false;
    }
    let replicas = set.spec.replicas.unwrap_or(1);
    let is_wanted = || {
        let (least, most) = (budget.min_available.as_ref(), budget.max_unavailable.as_ref());
        budgets::wanted(least, most, replicas.into()).is_some()
    };
    // With fewer pods than replicas, the budget allows more once all exist.
    let is_full = replicas > 0 && budget.expected >= replicas && budget.healthy >= budget.expected;
    let has_others = budget.expected > replicas && budget.max_unavailable.is_none();
    (is_full || budget.failure.is_some()) && (has_others || !is_wanted())
}

/// Leave out the pods of controllers without a scale.
fn let_it_select_these(
    query: &StatusQuery<'_>,
    set: &StatefulSet,
    budget: &PodDisruptionBudget,
) -> Help {
    let own = set.spec.selector.as_ref().and_then(|it| it.match_labels.as_ref());
    let more: BTreeMap<_, _> =
        own.into_iter().flatten().filter(|(key, value)| !budget.asks_for(key, value)).collect();
    let kubectl = query.kubectl();
    if more.is_empty() {
        let describe = kubectl.looks("describe pdb", &[&budget.name]);
        return Help::say("let it select only pods of controllers that have a scale; ")
            .run(describe)
            .and(" shows what it selects");
    }
    let patch = serde_json::json!({"spec": {"selector": {"matchLabels": more}}}).to_string();
    let narrow = kubectl.patches("pdb", &budget.name, &patch);
    Help::say(format!(
        "pods of controllers without a scale need a budget with a number as minAvailable; let this one \
         select only the pods of {}: ",
        query.target()
    ))
    .run(narrow)
}
