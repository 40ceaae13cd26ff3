//! Finds volumes that only nodes unable to run the pod can use.

use crate::kubernetes::node_selector;
use crate::rules::prelude::*;

/// A bound claim whose volume is unusable on every node that can run its pod.
pub(in crate::rules) struct Elsewhere<'a> {
    pub(in crate::rules) claim: String,
    pub(in crate::rules) volume: &'a str,
    /// The nodes that could use the volume if they were ready and not cordoned.
    pub(in crate::rules) nodes: Vec<&'a Node>,
}

/// The most pods of a set that are examined, each with all nodes.
const MOST_PODS: usize = 20;

/// Returns the first unschedulable pods with such a claim, by ordinal.
///
/// Kubernetes: `FindPodVolumes` and `checkBoundClaims`, pkg/scheduler/framework/plugins/volumebinding/binder.go.
pub(in crate::rules) fn elsewhere<'a>(
    query: &StatusQuery<'a>,
    replicas: &Replicas<'a>,
) -> BTreeMap<i64, Elsewhere<'a>> {
    let is_unschedulable = |pod: &Pod| {
        let trouble = pod.trouble.as_ref();
        trouble.is_some_and(|it| it.kind == NotReadyKind::Unschedulable)
            && query.audit.is_long_ago(query.unready_since(pod))
    };
    if !query.audit.observed.knows(Kind::Node, "") {
        return BTreeMap::new();
    }
    let pods = replicas.pods.iter().filter(|(_, pod)| is_unschedulable(pod)).take(MOST_PODS);
    let found =
        pods.filter_map(|(ordinal, _)| Some((*ordinal, of_pod(query, replicas, *ordinal)?)));
    found.collect()
}

fn of_pod<'a>(
    query: &StatusQuery<'a>,
    replicas: &Replicas<'a>,
    ordinal: i64,
) -> Option<Elsewhere<'a>> {
    let observed = query.audit.observed;
    replicas.settings.claims_of(ordinal).find_map(|claim| {
        let volume = observed.claim(query.set.namespace(), &claim)?.volume.as_deref()?;
        let required = observed.volume(volume)?.nodes.as_ref()?;
        let can_use = |node: &&Node| {
            let place = &node.place;
            let label = |key: &str| place.labels.get(key).map(String::as_str);
            let terms = &required.node_selector_terms;
            terms.iter().any(|term| node_selector::matches(term, &place.name, label))
        };
        let nodes: Vec<&Node> = observed.nodes().filter(can_use).collect();
        let is_usable = |node: &&Node| node.not_ready.is_none() && !node.is_cordoned;
        let none = !nodes.iter().any(is_usable);
        none.then_some(Elsewhere { claim, volume, nodes })
    })
}
