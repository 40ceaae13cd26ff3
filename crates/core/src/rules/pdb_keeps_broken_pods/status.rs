//! A PodDisruptionBudget that keeps broken pods on their nodes.

use crate::observed::PodDisruptionBudget;
use crate::rules::prelude::*;

pub(super) const SCOPE: Scope =
    Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Workload(check) };

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if !query.has_pods_to_look_at() {
        return;
    }
    let budgets = query.audit.observed.budgets(query.set.namespace());
    let mut keeping = budgets.iter().filter(|budget| keeps(budget));
    let Some(budget) = keeping.find(|it| it.selects(query.set.pod_labels())) else { return };
    let pods = query.audit.observed.pods(query.set).iter();
    let kept: Vec<_> = pods.filter(|pod| is_kept(query, pod)).map(|pod| &*pod.name).collect();
    if kept.is_empty() {
        return;
    }
    let PodDisruptionBudget { name, healthy, desired, .. } = budget;
    let list = names(kept.iter().copied());
    let patch = r#"{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}"#;
    let allow = query.kubectl().patches("pdb", name, patch);
    let help = Help::say("if broken pods may be evicted at any time, run ").run(allow);
    let facts = Facts::title(format!(
        "PodDisruptionBudget {name} lets not even broken pods be evicted ({list})"
    ))
    .cause(format!("it requires {desired} healthy pods and has {healthy}"))
    .effect("a drain of their nodes waits until they are repaired or deleted".to_owned())
    .pods(kept.iter().copied());
    let path = SPEC.child("replicas");
    let report = StatusFinding::new(&path, facts, help);
    found.add(report.note().instead_of(Some("pdb-keeps-broken-pods")));
}

/// The budget allows no eviction of a running pod, because too few are healthy. Kubernetes: `EvictionREST.Create`,
/// pkg/registry/core/pod/storage/eviction.go.
const fn keeps(budget: &PodDisruptionBudget) -> bool {
    !budget.is_owned
        && !budget.evicts_unready
        && budget.is_current
        && budget.failure.is_none()
        && budget.allowed <= 0
        && budget.healthy < budget.desired
}

/// A pod whose containers have never run is Pending, and can always be evicted.
fn is_kept(query: &StatusQuery<'_>, pod: &Pod) -> bool {
    let is_there = pod.is_bound && pod.deleted.is_none() && !pod.has_ended;
    is_there
        && !pod.ready.0
        && pod.restarts > 0
        && query.audit.is_long_ago(query.unready_since(pod))
}
