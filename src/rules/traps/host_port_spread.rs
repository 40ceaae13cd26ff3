//! S24: more pods than nodes that can take them.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
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
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    let replicas = spec.replicas.unwrap_or(1);
    if replicas < 2 || read::self_anti_affinity(&subject.object).next().is_some() {
        return;
    }
    let Some(claimed) = read::pod_spec(&subject.object).and_then(read::node_port) else { return };
    let path = Path::new("spec");
    let path = path.child("template");
    let path = path.child("spec");
    let (list, i) = claimed.at;
    let (j, is_host_port) = claimed.port;
    let host_network = path.child("hostNetwork");
    let container = path.child(list);
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

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: edge
spec:
  serviceName: edge
  replicas: 3
  selector:
    matchLabels: {app: edge}
  template:
    metadata:
      labels: {app: edge}
    spec:
      containers:
        - name: edge
          image: registry.example.com/edge:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
          ports:
            - {containerPort: 8080, hostPort: 8080}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: edge
spec:
  serviceName: edge
  replicas: 3
  selector:
    matchLabels: {app: edge}
  template:
    metadata:
      labels: {app: edge}
    spec:
      containers:
        - name: edge
          image: registry.example.com/edge:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
          ports:
            - {containerPort: 8080}
";
