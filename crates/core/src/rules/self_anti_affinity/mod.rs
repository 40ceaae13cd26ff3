use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "self-anti-affinity", group: Nodes, mode: Mode::Audit, cel: "cel.yaml";
    title: "each replica needs its own node or zone",
    summary: "replicas that must not share a node or zone, so that each needs its own",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let replicas = spec.replicas.unwrap_or(1);
    // One finding is enough, whichever term it is about.
    let Some((i, term)) = read::self_anti_affinity(&subject.object).next() else { return };
    if replicas < 2 {
        return;
    }
    let place = match term.topology_key.as_str() {
        "kubernetes.io/hostname" => "node",
        "topology.kubernetes.io/zone" => "zone",
        other => other,
    };
    found.report(
        &POD_SPEC
            .below("affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution")
            .index(i),
        Reason::Invalid,
        format!(
            "each of the {replicas} replicas needs a {place} of its own, and a pod that finds none \
             stays Pending"
        ),
        "use topologySpreadConstraints or a preferred term if two may share one",
    );
}
