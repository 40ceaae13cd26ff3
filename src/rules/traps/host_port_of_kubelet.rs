//! A pod in the node's network that declares the port on which the kubelet listens.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::visit},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

/// The port of the kubelet: `KubeletPort`, pkg/cluster/ports/ports.go.
const KUBELET: i32 = 10250;

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "host-port-of-kubelet",
        summary: "hostNetwork and port 10250, on which the kubelet listens on every node",
        why: "\
With `hostNetwork` the container listens on the node itself, where the kubelet has port 10250. The container
ends with \"bind: address already in use\", again and again. Charts choose this port because firewalls are open
for it, which is fine as long as the pod has a network of its own: the mistake is to turn on `hostNetwork` and
leave the port (k3s-io/k3s#11362, cert-manager/cert-manager#3472).

The scheduler counts the ports of pods only. Seen on 1.33 and 1.37 control planes: a DaemonSet with
`hostNetwork` and `containerPort: 10250` is accepted, and its pods are bound to all nodes. That the container
cannot listen is from the two issues, because it happens on the node.

The rule looks at declared ports with TCP and without `hostIP`. It does not look at other ports of node
components: a DaemonSet can be that component, and kubelets can be configured to have another port.

Kubernetes: `KubeletPort`, pkg/cluster/ports/ports.go; `NodePorts`,
pkg/scheduler/framework/plugins/nodeports/node_ports.go.",
        bad: include_str!("examples/host-port-of-kubelet.bad.yaml"),
        good: include_str!("examples/host-port-of-kubelet.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let Some(spec) = spec.filter(|spec| spec.host_network == Some(true)) else { return };
    visit(spec, &POD_SPEC, &mut |container, path| {
        for (i, port) in container.ports.iter().flatten().enumerate() {
            let is_tcp = matches!(port.protocol.as_deref(), None | Some("" | "TCP"));
            let anywhere = matches!(port.host_ip.as_deref(), None | Some("" | "0.0.0.0" | "::"));
            if port.container_port == KUBELET && is_tcp && anywhere {
                found.report(
                    &path.child("ports").index(i).child("containerPort"),
                    Reason::Invalid,
                    format!(
                        "the kubelet listens on port {KUBELET} of every node, so with hostNetwork \
                         container {:?} cannot, and crashes",
                        container.name
                    ),
                    "let the program listen on another port",
                );
            }
        }
    });
}
