//! Finds the nodes that come closest to taking an unschedulable pod.

use crate::rules::prelude::*;
use crate::{
    kubernetes::taints::is_transient,
    rollout::node::{NodeInfo, Placing, reasons},
};

/// The taint of a cordoned node.
const CORDON: &str = "node.kubernetes.io/unschedulable:";

/// Returns whether neither labels nor other taints keep a pod from a cordoned node.
pub(in crate::rules) fn is_kept_by_cordon(placing: &Placing, node: &NodeInfo) -> bool {
    let is_cordon = |why: &WhyNot| matches!(why, WhyNot::Taint(taint) if taint.starts_with(CORDON));
    reasons(placing, node).iter().all(is_cordon)
}

/// Lists the nodes that labels and taints allow for a pod of the set, or else nodes that a single label or taint
/// excludes. Returns `None` if no node or every node is one of these.
///
/// The scheduler reports only how many nodes each reason excludes: no nodes and, as of 1.37, no taints.
pub(in crate::rules) fn nearest(query: &StatusQuery<'_>) -> Option<String> {
    // A daemon pod is meant for one node; the others do not matter.
    let WorkloadState::StatefulSet(set) = &query.set.state else { return None };
    let observed = query.audit.observed;
    if !observed.knows(Kind::Node, "") {
        return None;
    }
    let (why, nodes) = match closest(observed, &set.spec.template.placing) {
        Closest::Fit(fit) => {
            let of_all = fit.len() < observed.nodes().count();
            return of_all.then(|| format!("by labels and taints it may run on {}", names(fit)));
        }
        Closest::Without(why, nodes) => (why, nodes),
        Closest::None => return None,
    };
    let (are, lack, have) = match nodes.len() {
        1 => ("is", "lacks", "has"),
        _ => ("are", "lack", "have"),
    };
    let why = match why {
        WhyNot::NodeSelector(key, value) => format!("{lack} only the label {key}={value}"),
        WhyNot::Taint(taint) if is_transient(&taint) => {
            format!("{have} only the taint {taint} against it, which shows the state of a node")
        }
        WhyNot::Taint(taint) => format!("{have} only the taint {taint} against it"),
        WhyNot::Affinity => format!("{are} excluded only by the node affinity"),
        WhyNot::NodeName(_) | WhyNot::Gone => return None,
    };
    Some(format!("nearest {are} {}, which {why}", names(nodes)))
}

enum Closest<'a> {
    /// Labels and taints allow these nodes.
    Fit(Vec<&'a str>),
    /// Only this excludes these nodes.
    Without(WhyNot, Vec<&'a str>),
    None,
}

/// The smallest group of nodes is most likely the one that the pod is meant for.
fn closest<'a>(observed: &'a Observed, placing: &Placing) -> Closest<'a> {
    let mut fit = Vec::new();
    let mut near: BTreeMap<WhyNot, Vec<&str>> = BTreeMap::new();
    for node in observed.nodes() {
        let name = node.place.name.as_str();
        match <[WhyNot; 1]>::try_from(reasons(placing, &node.place)) {
            Ok([why]) => near.entry(why).or_default().push(name),
            Err(reasons) if reasons.is_empty() => fit.push(name),
            Err(_) => {}
        }
    }
    match near.into_iter().min_by_key(|(_, nodes)| nodes.len()) {
        _ if !fit.is_empty() => Closest::Fit(fit),
        Some((why, nodes)) => Closest::Without(why, nodes),
        None => Closest::None,
    }
}

impl StatusQuery<'_> {
    /// Returns the command that gives a node the only label that it lacks, if no other node comes as close.
    pub(in crate::rules) fn label(&self) -> Option<Command> {
        let placing = match &self.set.state {
            WorkloadState::DaemonSet(set) => &set.spec.template.placing,
            WorkloadState::StatefulSet(set) => &set.spec.template.placing,
        };
        let observed = self.audit.observed;
        let Closest::Without(WhyNot::NodeSelector(key, value), nodes) = closest(observed, placing)
        else {
            return None;
        };
        let [node] = nodes[..] else { return None };
        // A different value is meant for something.
        let is_free = !observed.node(node)?.place.labels.contains_key(&key);
        let label = format!("{key}={value}");
        let kubectl = self.audit.kubectl_anywhere();
        is_free.then(|| kubectl.does(Effect::Changes, "label node", &[node, &label]))
    }
}
