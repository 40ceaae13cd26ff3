//! Nodes that are down, and the sets whose pods are on them.

use std::collections::BTreeMap;

use super::phrases::{count, names, one_line, since};
use crate::{
    finding::{Facts, Help, Meta, Mode, Path, paths::STATUS},
    kubernetes::{kind::Kind, resource::WorkloadKind},
    observed::{Node, Pod, WorkloadStatus},
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Audit, ObjectName, Report, StatusFindings},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "node-down",
        summary: "a node that is not ready, and the sets with pods on it",
        why: "\
One node that goes down leaves traces in every set that has a pod on it: a DaemonSet no longer counts the node
as desired, or counts a pod that is not ready; the pod of a StatefulSet stays Terminating and is not created
elsewhere. None of these sets is at fault. The node is reported once, with the sets that have pods on it and
how many of these are Terminating.

The node has taints such as `node.kubernetes.io/unreachable` meanwhile. They are removed when it is ready
again, and no template should tolerate them: its pods would be wanted on nodes that cannot run them.

It is reported after five minutes, and only if a set has a pod there. What else the node holds up is reported
for the set: `rollout-budget-eaten` and `pod-stuck-terminating`.

Seen on a 1.37 control plane: three nodes, one of them without a heartbeat. Its condition Ready is Unknown,
and it gets the taint `unreachable` with the effects NoSchedule and NoExecute. A DaemonSet has 2 desired and 1
misscheduled pods; one that tolerates everything has 3 desired and 2 ready.

Kubernetes: `monitorNodeHealth` and `processTaintBaseEviction`,
pkg/controller/nodelifecycle/node_lifecycle_controller.go.",
        bad: include_str!("examples/node-down.bad.yaml"),
        good: include_str!("examples/node-down.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Status { kinds: &[Kind::Node], check: StatusCheck::Others(check) },
};

/// A node that is down, and the pods on it with their sets.
type Down<'a> = (&'a Node, Vec<(&'a WorkloadStatus, &'a Pod)>);

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let down = |node: &&Node| node.not_ready.is_some_and(|since| audit.is_long_ago(since));
    let mut nodes: BTreeMap<&str, Down<'_>> = BTreeMap::new();
    for node in audit.observed.nodes().filter(down) {
        nodes.insert(&node.place.name, (node, Vec::new()));
    }
    if nodes.is_empty() {
        return;
    }
    for set in audit.observed.sets() {
        for pod in audit.observed.pods(set).iter().filter(|pod| pod.is_bound && !pod.has_ended) {
            let node = pod.node.as_deref().and_then(|name| nodes.get_mut(name));
            node.into_iter().for_each(|(_, pods)| pods.push((set, pod)));
        }
    }
    for (node, pods) in nodes.into_values().filter(|(_, pods)| !pods.is_empty()) {
        found.add(report(audit, node, &pods));
    }
}

fn report(audit: &Audit<'_>, node: &Node, pods: &[(&WorkloadStatus, &Pod)]) -> Report<'static> {
    let name = node.place.name.as_str();
    let why = match &*node.why_not_ready {
        "" => String::new(),
        said => format!(" ({})", one_line(said)),
    };
    let kinds =
        [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet].map(|kind| of_kind(kind, pods));
    let sets: Vec<_> = kinds.into_iter().flatten().collect();
    let message = format!(
        "the node has not been ready {}{why}; with pods on it: {}",
        since(node.not_ready.unwrap_or_default()),
        sets.join(" and ")
    );
    let describe = audit.kubectl_anywhere().looks("describe node", &[name]);
    let help = Help::say("repair the node, or remove it; the sets need no change; ")
        .run(describe)
        .and(" shows its conditions");
    let about = ObjectName {
        namespace: "".into(),
        kind: Kind::Node,
        name: name.into(),
        api_version: "v1",
        uid: node.uid.clone(),
    };
    let facts = Facts::title("the node is not ready")
        .effect(format!("with pods on it: {}", sets.join(" and ")))
        .since(node.not_ready.unwrap_or_default())
        .pods(pods.iter().map(|(_, pod)| &*pod.name))
        .nodes([name]);
    let facts = match &*node.why_not_ready {
        "" => facts,
        said => facts.cause(one_line(said)),
    };
    Report::new(&CONDITIONS, message, help).about(about).facts(facts)
}

/// `2 StatefulSets (shop/db, shop/queue), 1 pod of them Terminating`; `None` if there is no such set.
fn of_kind(kind: WorkloadKind, pods: &[(&WorkloadStatus, &Pod)]) -> Option<String> {
    let pods: Vec<_> = pods.iter().filter(|(set, _)| set.kind() == kind).collect();
    let mut sets: Vec<_> =
        pods.iter().map(|(set, _)| format!("{}/{}", set.namespace(), set.name())).collect();
    sets.dedup();
    if sets.is_empty() {
        return None;
    }
    let list = names(sets.iter().map(String::as_str));
    let ending = pods.iter().filter(|(_, pod)| pod.deleted.is_some()).count();
    let ending = match ending {
        0 => String::new(),
        some => format!(", {} of them Terminating", count(some, "pod")),
    };
    Some(format!("{} ({list}){ending}", count(sets.len(), kind.as_str())))
}

static CONDITIONS: Path<'static> = STATUS.child("conditions");
