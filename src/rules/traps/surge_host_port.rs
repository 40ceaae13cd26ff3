//! A surge pod that needs the host port of the old pod.

use super::read;
use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "surge-host-port",
        summary: "a DaemonSet with maxSurge whose pods use a host port",
        why: "\
With `maxSurge` the new pod is started on a node while the old one still runs there, and the old one is
deleted when the new one is available. Only one pod can hold a port of the node. So the new pod stays
Pending, the old one is never replaced, and the rollout never ends. The same holds for `hostNetwork` with
declared ports: the API server makes each of them a host port in each pod.

Seen on a 1.36 control plane: `maxSurge: 1`, `hostPort: 80`, a new image; the new pod stays Pending with
\"1 node(s) didn't have free ports for the requested pod ports\".

Kubernetes: no rule in pkg/apis/apps/validation; `NodePorts`,
pkg/scheduler/framework/plugins/nodeports/node_ports.go; `rollingUpdate`,
pkg/controller/daemon/update.go; `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: include_str!("examples/surge-host-port.bad.yaml"),
        good: include_str!("examples/surge-host-port.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::DaemonSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@surges && @running.exists(c, c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) \
        != 0 || @pod.?hostNetwork.orValue(false)))",
    message: "'the pods claim a port of the node, which the old pod still holds, so the surge pod \
        stays Pending and the rollout never ends'",
    help: "use maxSurge 0 and maxUnavailable 1 or more",
    ..Cel::EMPTY
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if !read::surges(spec) {
        return;
    }
    let Some(claimed) = spec.template.spec.as_ref().and_then(read::host_port) else { return };
    found
        .report(
            &ROLLING_UPDATE.child("maxSurge"),
            Reason::Invalid,
            format!(
                "container {:?} claims port {} of the node, which the old pod still holds, so the \
             surge pod stays Pending and the rollout never ends",
                claimed.container.name, claimed.number
            ),
            "use maxSurge 0 and maxUnavailable 1 or more",
        )
        .fixed_by(Fix::use_default(&ROLLING_UPDATE));
}
