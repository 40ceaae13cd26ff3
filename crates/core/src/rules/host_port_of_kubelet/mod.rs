use crate::rules::prelude::*;

/// `KubeletPort`, pkg/cluster/ports/ports.go.
const KUBELET: i32 = 10250;

pub(super) static RULE: Rule = rule! {
    id: "host-port-of-kubelet", group: Nodes;
    title: "the kubelet listens on this port",
    summary: "hostNetwork and port 10250, the kubelet's port on every node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
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
