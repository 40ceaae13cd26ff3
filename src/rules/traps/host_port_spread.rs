//! Replicas that each need their own node because they claim a port of it.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "host-port-spread",
        summary: "replicas that claim a port of the node, so that no two fit on one node",
        why: "\
Only one pod on a node can use a given host port, and with `hostNetwork` every declared port is a host
port. So no two replicas can run on the same node. With fewer free nodes than replicas the rest stay
Pending; with podManagementPolicy OrderedReady only the first of them is created at all. If a node is
lost or drained, its pod may have nowhere to run. A StatefulSet with a required podAntiAffinity
against its own pods is exempt: it already makes this explicit.

Seen on a 1.36 control plane with 2 nodes: with 3 replicas and `hostPort: 8080`, and with 3 replicas,
`hostNetwork` and a containerPort, two pods are scheduled and the third stays Pending with \"2 node(s)
didn't have free ports for the requested pod ports\".

Kubernetes: `NodePorts`, pkg/scheduler/framework/plugins/nodeports/node_ports.go;
`defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: include_str!("examples/host-port-spread.bad.yaml"),
        good: include_str!("examples/host-port-spread.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@replicas >= 2 && \
        @pod.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).size() \
        == 0 && @running.exists(c, c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) != \
        0 || @pod.?hostNetwork.orValue(false)))",
    message: "'the pods claim a port of the node, so each of the ' + string(@replicas) + ' \
        replicas needs its own node, and those that find none stay Pending'",
    help: "use a Service instead, or make it explicit with a required podAntiAffinity by \
        hostname",
    misses: Some("sets with a required podAntiAffinity against other pods"),
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let replicas = spec.replicas.unwrap_or(1);
    if replicas < 2 || read::self_anti_affinity(&subject.object).next().is_some() {
        return;
    }
    let Some(claimed) = spec.template.spec.as_ref().and_then(read::host_port) else { return };
    let (list, i) = claimed.at;
    let (j, is_host_port) = claimed.port;
    let host_network = POD_SPEC.child("hostNetwork");
    let container = POD_SPEC.child(list);
    let container = container.index(i);
    let ports = container.child("ports");
    let port = ports.index(j);
    let host_port = port.child("hostPort");
    found.report(
        if is_host_port { &host_port } else { &host_network },
        Reason::Invalid,
        format!(
            "container {:?} claims port {} of the node, so each of the {replicas} replicas needs \
             its own node, and those that find none stay Pending",
            claimed.container.name, claimed.number
        ),
        "use a Service instead, or make it explicit with a required podAntiAffinity by hostname",
    );
}
