//! A DaemonSet that leaves nodes for good, because its new template does not tolerate their taint.

use super::nodes::{MatchingNodes, written};
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    inventory::object_summary::ObjectSummary,
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "taint-no-longer-tolerated",
        summary: "a new template that does not tolerate a taint of nodes, as the former did",
        why: "\
A node with a taint that the new template does not tolerate gets no pod of it. The rolling update deletes the
old pod there as everywhere, creates none, and counts as complete without the node: it is no longer desired.
The status shows nothing, not even in `numberMisscheduled`, which counts pods that are still there. So the log
agent or the driver is missing on these nodes until a user notices. With a taint of the effect NoExecute the
pods are deleted before the others, and with the update strategy OnDelete they stay until they are deleted.

Seen on a 1.37 control plane, two nodes, one with the taint `dedicated=gpu:NoSchedule`: a template without the
toleration of the former; both pods are deleted and one is created, and `kubectl rollout status` prints
\"successfully rolled out\".

The webhook reports this if its view includes Nodes (`inventory.mode: full`), and `setguard check` with the
Nodes of the cluster in `--inventory` and the former template in `--against`. Nodes that the new template
excludes by their labels are left out: that is meant. So are taints that come and go with the state of their
node.

Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go; `NodeShouldRunDaemonPod`,
pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/taint-no-longer-tolerated.bad.yaml"),
        good: include_str!("examples/taint-no-longer-tolerated.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let details = query.item.details().filter(|_| query.item.kind() == Kind::DaemonSet);
    let Some(details) = details else { return };
    if query.inventory().count(Kind::Node) == 0 || !query.knows(Kind::Node, "") {
        return;
    }
    let old = query.old().and_then(ObjectSummary::details);
    let Some(old) = old.filter(|it| it.tolerations != details.tolerations) else { return };
    let nodes = details.allowed_nodes();
    let mut left = MatchingNodes::default();
    let mut first = None;
    query.inventory().has_node(&old.allowed_nodes(), |item, node| {
        let taint = node.taint_against(&details.tolerations);
        if let Some(taint) = taint.filter(|_| node.taint_against(&old.tolerations).is_none())
            && nodes.alternatives().any(|it| it.matches(item.name(), &node.labels))
        {
            left.add(item);
            first.get_or_insert(taint);
        }
        false
    });
    let Some(taint) = first else { return };
    found.report(
        Kind::Node,
        &POD_SPEC.child("tolerations"),
        Reason::Required,
        format!(
            "it no longer tolerates {}, a taint of {left}: the rollout deletes the pods there, creates \
             no new ones, and counts as complete",
            written(taint)
        ),
        "tolerate the taint again; if the pods are to leave, exclude the nodes by a label too",
    );
}
