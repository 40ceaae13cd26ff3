use crate::kubernetes::taints::written;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "taint-no-longer-tolerated", group: Nodes;
    title: "a taint is no longer tolerated",
    summary: "a new template that does not tolerate a taint of nodes, as the former did",
    scopes: [Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    if query.item.kind() != Kind::DaemonSet || !query.knows_nodes() {
        return;
    }
    let old = query.old().and_then(ObjectSummary::details);
    let Some(old) = old.filter(|it| it.tolerations != query.details.tolerations) else { return };
    let nodes = query.details.allowed_nodes();
    let mut left = MatchingNodes::default();
    let mut first = None;
    query.inventory().has_node(&old.allowed_nodes(), |item, node| {
        let taint = node.taint_against(&query.details.tolerations);
        if let Some(taint) = taint.filter(|_| node.taint_against(&old.tolerations).is_none())
            && nodes.alternatives().any(|it| it.matches(item.name(), &node.labels))
        {
            left.add(item);
            first.get_or_insert(taint);
        }
        false
    });
    let Some(taint) = first else { return };
    let message = format!(
        "it no longer tolerates {}, a taint of {left}: the rollout deletes the pods there, creates \
         no new ones, and counts as complete",
        written(taint)
    );
    let help =
        "tolerate the taint again; if the pods are to leave, exclude the nodes by a label too";
    found.via(Kind::Node, &POD_SPEC.child("tolerations"), Reason::Required, message, help);
}
