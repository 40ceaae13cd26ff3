use crate::rules::prelude::*;
use crate::{observed::DaemonSet, rollout::node::placements};

pub(in crate::rules) struct Daemons<'a> {
    of: &'a WorkloadStatus,
    pub(in crate::rules) set: &'a DaemonSet,
    pub(in crate::rules) nodes: Vec<(&'a Node, Placement, Vec<&'a Pod>)>,
    hash: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rules) enum Lack {
    NoPod,
    Unschedulable,
    NotReady,
}

impl<'a> Daemons<'a> {
    /// Returns `None` for a StatefulSet, or if the nodes are unknown.
    pub(in crate::rules) fn of(query: &StatusQuery<'a>) -> Option<Self> {
        let WorkloadState::DaemonSet(set) = &query.set.state else { return None };
        let observed = query.audit.observed;
        if !observed.knows(Kind::Node, "") {
            return None;
        }
        let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in observed.pods(query.set) {
            pods.entry(pod.node.as_deref().unwrap_or_default()).or_default().push(pod);
        }
        let placements =
            placements(&set.spec.template.placing, observed.nodes().map(|it| &it.place));
        let nodes = observed.nodes().zip(placements).map(|(node, placement)| {
            let pods = pods.remove(node.place.name.as_str()).unwrap_or_default();
            (node, placement, pods)
        });
        let nodes = nodes.collect();
        Some(Daemons { of: query.set, set, nodes, hash: observed.newest(query.set) })
    }

    /// Returns `None` without any pods, because the pods of a healthy set may not have been read.
    pub(in crate::rules) fn with_pods(query: &StatusQuery<'a>) -> Option<Self> {
        (!query.audit.observed.pods(query.set).is_empty()).then(|| Daemons::of(query))?
    }

    /// Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
    pub(in crate::rules) fn is_updated(&self, pod: &Pod) -> bool {
        self.hash.is_some_and(|hash| pod.is_of(hash)) || self.of.has_generation_of(pod)
    }

    pub(in crate::rules) const fn knows_revision(&self) -> bool {
        self.hash.is_some()
    }

    /// Returns the nodes that should have a pod and have had the time to get one.
    pub(in crate::rules) fn wanted<'s>(
        &'s self,
        query: &'s StatusQuery<'a>,
    ) -> impl Iterator<Item = (&'a Node, &'s [&'a Pod])> {
        let is_new = |node: &Node| {
            !query.audit.is_long_ago(node.created) || !query.audit.is_long_ago(query.set.created)
        };
        let nodes = self.nodes.iter().filter(|(_, placement, _)| *placement == Placement::Runs);
        nodes.filter(move |(node, ..)| !is_new(node)).map(|(node, _, pods)| (*node, &**pods))
    }

    /// Returns what a ready node lacks, with the pod at fault, if that has lasted.
    pub(in crate::rules) fn lack(
        &self,
        query: &StatusQuery<'a>,
        node: &Node,
        pods: &[&'a Pod],
    ) -> Option<(Lack, Option<&'a Pod>)> {
        if pods.is_empty() {
            return Some((Lack::NoPod, None));
        }
        // A pod that is being deleted makes room for the next one. On a node that is not ready, all pods have the same
        // problem.
        let mut pods = pods.iter().filter(|pod| pod.deleted.is_none());
        let is_unready = |pod: &Pod| query.is_unready(pod);
        let pod = pods.next().filter(|pod| is_unready(pod) && pods.all(|it| is_unready(it)))?;
        if node.not_ready.is_some() || !query.audit.is_long_ago(query.unready_since(pod)) {
            return None;
        }
        let lack = if pod.is_unschedulable() { Lack::Unschedulable } else { Lack::NotReady };
        Some((lack, Some(pod)))
    }
}
