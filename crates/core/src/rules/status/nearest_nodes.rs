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
    let placing: &Placing = &set.spec.template.placing;
    let (mut fit, mut all) = (Vec::new(), 0);
    let mut near: BTreeMap<WhyNot, Vec<&str>> = BTreeMap::new();
    for node in observed.nodes() {
        all += 1;
        let name = node.place.name.as_str();
        match <[WhyNot; 1]>::try_from(reasons(placing, &node.place)) {
            Ok([why]) => near.entry(why).or_default().push(name),
            Err(reasons) if reasons.is_empty() => fit.push(name),
            Err(_) => {}
        }
    }
    if !fit.is_empty() {
        let of_all = fit.len() < all;
        return of_all.then(|| format!("by labels and taints it may run on {}", names(fit)));
    }
    // The smallest group of nodes is most likely the one that the pod is meant for.
    let (why, nodes) = near.into_iter().min_by_key(|(_, nodes)| nodes.len())?;
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
