use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "daemon-leaves-nodes", group: Nodes;
    title: "pods disappear from many nodes",
    summary: "a DaemonSet whose new node selector takes its pods away from many nodes",
    scopes: [Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check }],
};

/// The nodes that a change of a DaemonSet leaves.
#[derive(Default)]
pub struct Leaving<'a> {
    nodes: MatchingNodes<'a>,
    /// How many nodes the pods could run on before.
    all: usize,
}

impl Leaving<'_> {
    /// Returns how many nodes lose their pod, and how many had one.
    pub const fn counts(&self) -> (usize, usize) {
        (self.nodes.count(), self.all)
    }
}

/// Returns the nodes that a change of a DaemonSet leaves: `None` without an old state, or if the nodes are unknown.
pub fn leaving<'a>(query: &'a Query<'_>) -> Option<Leaving<'a>> {
    if query.item.kind() != Kind::DaemonSet || !query.knows_nodes() {
        return None;
    }
    let old = query.old()?.details().filter(|it| it.nodes != query.details.nodes)?;
    let nodes = query.details.allowed_nodes();
    let mut leaving = Leaving::default();
    // A node may match several terms.
    let mut seen = HashSet::new();
    query.inventory().has_node(&old.allowed_nodes(), |item, node| {
        if node.taint_against(&old.tolerations).is_none() && seen.insert(item.name()) {
            leaving.all += 1;
            if !nodes.alternatives().any(|it| it.matches(item.name(), &node.labels)) {
                leaving.nodes.add(item);
            }
        }
        false
    });
    Some(leaving)
}

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(leaving) = leaving(query) else { return };
    let (left, all) = leaving.counts();
    if left < 2 || left * 4 < all {
        return;
    }
    let field = query.details.nodes.as_ref().map_or("nodeSelector", |(field, _)| *field);
    let of =
        if left == all { format!("all {all} nodes") } else { format!("{left} of {all} nodes") };
    let message = format!(
        "this change deletes its pods on {of} at once, whatever maxUnavailable is: these nodes are not \
         selected any more: {}",
        leaving.nodes
    );
    let help = "correct nodeSelector and node affinity; to leave nodes on purpose, take the label from one node after \
         the other";
    found.via(Kind::Node, &POD_SPEC.child(field), Reason::Invalid, message, help);
}
