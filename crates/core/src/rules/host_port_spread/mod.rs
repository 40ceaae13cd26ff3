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
    let first = spec.template.spec.as_ref().and_then(HostPort::first);
    let Some((port, container)) = first else { return };
    let field = match port.is_by_network() {
        true => POD_SPEC.child("hostNetwork").to_field(),
        false => port.field(),
    };
    found.report(
        field,
        Reason::Invalid,
        format!(
            "container {container:?} claims port {} of the node, so each of the {replicas} replicas needs \
             its own node, and those that find none stay Pending",
            port.port
        ),
        "use a Service instead, or make it explicit with a required podAntiAffinity by hostname",
    );
}
