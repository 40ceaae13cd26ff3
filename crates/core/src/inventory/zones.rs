//! How pods depend on the zones of their nodes.

use crate::inventory::prelude::*;
use crate::kubernetes::pod_affinity::groups;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

pub(super) fn required(pod: &PodSpec) -> Option<&'static str> {
    let spreads = pod.topology_spread_constraints.iter().flatten();
    let mut spreads = spreads.filter(|it| it.when_unsatisfiable == "DoNotSchedule");
    if spreads.any(|it| is_zone(&it.topology_key)) {
        return Some("spread over zones");
    }
    let groups = || pod.affinity.iter().flat_map(groups);
    let in_zones =
        groups().filter(|(_, terms, _)| terms.iter().any(|it| is_zone(&it.topology_key)));
    // The terms that keep pods apart come last.
    match in_zones.last() {
        Some(("podAntiAffinity", ..)) => return Some("kept out of each other's zone"),
        Some(_) => return Some("kept in the zone of other pods"),
        None => {}
    }
    let nodes = Nodes::of(pod);
    LABELS.iter().any(|label| nodes.pin(label).is_some()).then_some("pinned to a zone")
}

fn is_zone(key: &str) -> bool {
    LABELS.contains(&key)
}
