//! D1: a surge pod beside an old one that holds the same port of the node.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "surge-host-port",
        summary: "a DaemonSet with maxSurge whose pods claim a port of the node",
        why: "\
With `maxSurge` the new pod is started on a node while the old one still runs there, and the old one goes
when the new one is available. A port of the node can be held by one pod only. So the new pod stays
Pending, the old one is never replaced, and the rollout stands still for ever. The same holds for
`hostNetwork` with declared ports, which the API server turns into ports of the node in each pod.

Seen on a 1.36 control plane: `maxSurge: 1`, `hostPort: 80`, a new image; the new pod stays Pending with
\"1 node(s) didn't have free ports for the requested pod ports\".

Kubernetes: no rule in pkg/apis/apps/validation; `NodePorts`,
pkg/scheduler/framework/plugins/nodeports/node_ports.go; `rollingUpdate`,
pkg/controller/daemon/update.go; `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Deny,
        kinds: &["DaemonSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if !read::daemon_set(&subject.object).is_some_and(read::surges) {
        return;
    }
    let Some(claimed) = read::pod_spec(&subject.object).and_then(read::node_port) else { return };
    let path = Path::new("spec");
    let path = path.child("updateStrategy");
    let path = path.child("rollingUpdate");
    found.report(
        &path.child("maxSurge"),
        Reason::Invalid,
        format!(
            "container {:?} claims port {} of the node, which the old pod still holds, so the \
             surge pod stays Pending and the rollout never ends",
            claimed.container.name, claimed.number
        ),
        "use maxSurge 0 and maxUnavailable 1 or more",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: ingress
spec:
  updateStrategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  selector:
    matchLabels: {app: ingress}
  template:
    metadata:
      labels: {app: ingress}
    spec:
      containers:
        - name: proxy
          image: registry.example.com/proxy:3.2.0
          ports:
            - {containerPort: 80, hostPort: 80}
          readinessProbe:
            httpGet: {port: 80, path: /ready}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: ingress
spec:
  updateStrategy:
    rollingUpdate: {maxSurge: 0, maxUnavailable: 1}
  selector:
    matchLabels: {app: ingress}
  template:
    metadata:
      labels: {app: ingress}
    spec:
      containers:
        - name: proxy
          image: registry.example.com/proxy:3.2.0
          ports:
            - {containerPort: 80, hostPort: 80}
          readinessProbe:
            httpGet: {port: 80, path: /ready}
";
