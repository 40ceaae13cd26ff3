//! More pods than nodes that can take them.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "host-port-spread",
        summary: "replicas that claim a port of the node: no two fit on one node",
        why: "\
A port of the node can be held by one pod only, and with `hostNetwork` every declared port is one. So
no two replicas can be on the same node: with fewer free nodes than replicas the rest stays Pending,
with podManagementPolicy OrderedReady the ones after it are not even created, and a node that is lost
or drained leaves its pod without a place. A StatefulSet that says so itself, with a required
podAntiAffinity against its own pods, is left alone.

Seen on a 1.36 control plane with 2 nodes: 3 replicas with `hostPort: 8080`, and 3 with `hostNetwork`
and a containerPort; two pods are placed, the third stays Pending with \"2 node(s) didn't have free
ports for the requested pod ports\".

Kubernetes: `NodePorts`, pkg/scheduler/framework/plugins/nodeports/node_ports.go;
`defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: include_str!("examples/host-port-spread.bad.yaml"),
        good: include_str!("examples/host-port-spread.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Holds,
    check: Check::StatefulSet(check),
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let replicas = spec.replicas.unwrap_or(1);
    if replicas < 2 || read::self_anti_affinity(&subject.object).next().is_some() {
        return;
    }
    let Some(claimed) = spec.template.spec.as_ref().and_then(read::node_port) else { return };
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
             a node of its own, and those that find none stay Pending",
            claimed.container.name, claimed.number
        ),
        "use a Service instead, or say it openly with a required podAntiAffinity by hostname",
    );
}
