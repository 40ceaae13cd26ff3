use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "probe-asks-node", group: NeverStarts;
    title: "the probe asks the node, not the pod",
    summary: "a probe or hook with the host localhost, which is the node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `NewRequestForHTTPGetAction`, pkg/probe/http/request.go; `runProbe`, pkg/kubelet/prober/prober.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if spec.host_network == Some(true) {
        return;
    }
    visit(spec, &POD_SPEC, &mut |container, path| {
        read::actions(container, path, &mut |it| {
            let Some((host, port)) = it.asked else { return };
            if is_loopback(host) && !is_port_of_node(container, port) {
                let message = format!(
                    "the kubelet asks {host}, which is the node and not the pod, so {}",
                    it.effect
                );
                let help = "leave out host: the kubelet then asks the pod's own address";
                found.report(&it.path.child("host"), Reason::Invalid, message, help);
            }
        });
    });
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// The node has a hostPort too.
fn is_port_of_node(container: &Container, port: &IntOrString) -> bool {
    let ports = list(&container.ports);
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            ports.iter().find(|it| it.name.as_ref() == Some(name)).map(|it| it.container_port)
        }
    };
    ports.iter().any(|it| it.host_port.is_some() && it.host_port == number)
}
