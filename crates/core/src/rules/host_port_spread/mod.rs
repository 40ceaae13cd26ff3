use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-port-spread", group: Nodes, cel: "cel.yaml";
    title: "no two replicas fit on one node",
    summary: "replicas that claim a port of the node, so that no two fit on one node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
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
    let container = POD_SPEC.item(list, i);
    let port = container.item("ports", j);
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
