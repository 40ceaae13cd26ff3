mod status;

use crate::rules::prelude::*;
use crate::{
    inventory::{node::Node, nodes::Nodes},
    kubernetes::taints::written,
};

pub(super) static RULE: Rule = rule! {
    id: "no-node-matches", group: NeverStarts;
    title: "no node matches the template",
    summary: "a template whose node selector and affinity no node matches",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Absence, check }, status::SCOPE],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let details = query.details;
    let is_daemon_set = query.item.kind() == Kind::DaemonSet;
    // `node-not-wanted` names the nodes of a DaemonSet that the cluster has.
    let heeds_taints = is_daemon_set && !query.is_stored();
    let (field, nodes) = match &details.nodes {
        Some((field, nodes)) => (field, nodes),
        None if heeds_taints => (&"tolerations", &Nodes::default()),
        None => return,
    };
    let count = query.inventory().count(Kind::Node);
    if count == 0 || !query.knows(Kind::Node, "") {
        return;
    }
    let mut tainted = None;
    let accepts = |item, node: &'_ Node| {
        let against = node.taint_against(&details.tolerations).filter(|_| heeds_taints);
        if let Some(taint) = against {
            tainted.get_or_insert_with(|| (item, written(taint)));
        }
        against.is_none()
    };
    if query.inventory().has_node(nodes, accepts) {
        return;
    }
    if let Some((node, taint)) = tainted {
        let message = format!(
            "each node that it may run on has a taint that it does not tolerate, such as {taint} \
             of {node}, so it gets no pods, and its rollout counts as complete"
        );
        let help = "tolerate the taint if the pods are meant for these nodes; otherwise select other nodes";
        found.via(Kind::Node, &POD_SPEC.child("tolerations"), Reason::Required, message, help);
        return;
    }
    let outcome = match query.item.kind() {
        Kind::DaemonSet => "it gets no pods, and its rollout counts as complete",
        _ => "its pods stay Pending",
    };
    let is_absent = |(key, value): &(&str, &str)| {
        let label = BTreeMap::from([((*key).to_owned(), (*value).to_owned())]);
        !query.inventory().has_node(&Nodes::by(Some(&label), None, None), |_, _| true)
    };
    let label = nodes.pins().find(is_absent);
    let label = label.map(|(key, value)| format!(" (none has the label {key}={value})"));
    let label = label.unwrap_or_default();
    let selects = || query.inventory().has_node(&nodes.without_affinity(), |_, _| true);
    let field = if *field == "nodeSelector" && selects() { "affinity" } else { field };
    let message = format!(
        "none of the {count} nodes matches nodeSelector and node affinity{label}, so {outcome}"
    );
    let help = "correct them, unless nodes that match are added later, as to a pool that is scaled to zero";
    found.via(Kind::Node, &POD_SPEC.child(field), Reason::NotFound, message, help);
}
