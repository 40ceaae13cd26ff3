//! Nodes that a taint keeps a DaemonSet away from.

use std::collections::BTreeMap;

use super::{
    daemon_set::Daemons,
    phrases::{count, names},
    toleration,
};
use crate::{
    finding::{Facts, Help, Meta, Mode, paths::TOLERATIONS},
    kubernetes::{kind::Kind, taints},
    rollout::node::{Placement, WhyNot},
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Report, StatusFindings, StatusQuery},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "node-not-wanted",
        summary: "nodes without a pod of the DaemonSet, because of a taint",
        why: "\
A DaemonSet creates no pod for a node with a taint that its template does not tolerate, and says so nowhere:
such a node does not count as desired, and the rollout is complete without it. The usual cases are the
control plane, and nodes that are tainted for other pods. The nodes are grouped by the first taint that is not
tolerated. Taints that come and go with the state of a node, such as `node.kubernetes.io/unreachable`,
are left out: no template should tolerate them (`node-down` reports the node).

It is a note, because it may be intended, unless no node at all gets a pod: then it is a warning. Nodes that
do not match the node selector or the affinity of the template are not reported: its author excluded them
(`no-node-matches` reports it if that excludes all nodes). Nodes that still have a pod are reported by
`misscheduled`.

Seen on a 1.36 control plane: four nodes, one of them with a taint; the DaemonSet has 3 of 3 pods.

Kubernetes: `NodeShouldRunDaemonPod` and `predicates`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/node-not-wanted.bad.yaml"),
        good: include_str!("examples/node-not-wanted.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Workload(check) },
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(daemons) = Daemons::of(query) else { return };
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, placement, pods) in &daemons.nodes {
        if let Placement::Keeps(WhyNot::Taint(taint)) | Placement::Loses(WhyNot::Taint(taint)) =
            placement
            && pods.is_empty()
            && !taints::is_transient(taint)
            && query.audit.is_long_ago(node.created)
        {
            groups.entry(taint).or_default().push(&node.place.name);
        }
    }
    let Some((first, _)) = groups.iter().max_by_key(|(_, nodes)| nodes.len()) else { return };
    let list = groups.iter().map(|(taint, nodes)| {
        format!("{taint} on {} ({})", count(nodes.len(), "node"), names(nodes.iter().copied()))
    });
    let desired = daemons.set.status.desired_number_scheduled;
    let who = if desired == 0 { "no node gets a pod" } else { "some nodes get no pod" };
    let list = list.collect::<Vec<_>>().join("; ");
    let message = format!("{who}, because of taints that the template does not tolerate: {list}");
    let facts = Facts::title(who)
        .cause(format!("the template does not tolerate all taints: {list}"))
        .nodes(groups.values().flatten().copied());
    let tolerate = toleration::add(query, daemons.set, first);
    let help = Help::say("if these nodes are to have a pod, run ").run(tolerate);
    let report = Report::new(&TOLERATIONS, message, help).facts(facts);
    found.add(if desired == 0 { report } else { report.note() });
}
