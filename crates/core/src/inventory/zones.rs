//! How pods depend on the zones of their nodes.

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};

use super::nodes::Nodes;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

pub(super) fn required(pod: &PodSpec) -> Option<&'static str> {
    let spreads = pod.topology_spread_constraints.iter().flatten();
    let mut spreads = spreads.filter(|it| it.when_unsatisfiable == "DoNotSchedule");
    if spreads.any(|it| is_zone(&it.topology_key)) {
        return Some("spread over zones");
    }
    let affinity = pod.affinity.as_ref();
    let anti = affinity.and_then(|it| it.pod_anti_affinity.as_ref());
    let anti =
        anti.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref());
    if has_zone(anti) {
        return Some("kept out of each other's zone");
    }
    let near = affinity.and_then(|it| it.pod_affinity.as_ref());
    let near =
        near.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref());
    if has_zone(near) {
        return Some("kept in the zone of other pods");
    }
    let nodes = Nodes::of(pod);
    LABELS.iter().any(|label| nodes.pin(label).is_some()).then_some("pinned to a zone")
}

fn has_zone(terms: Option<&[PodAffinityTerm]>) -> bool {
    terms.into_iter().flatten().any(|term| is_zone(&term.topology_key))
}

fn is_zone(key: &str) -> bool {
    LABELS.contains(&key)
}
