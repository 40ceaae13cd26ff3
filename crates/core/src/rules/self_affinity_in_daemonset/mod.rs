use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "self-affinity-in-daemonset", group: Nodes, cel: "cel.yaml";
    title: "all pods must be where the first is",
    summary: "a DaemonSet whose pods must all run in the zone or on the node of the first",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(_: &DaemonSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    for (i, term) in read::self_affinity(&subject.object) {
        let place = &term.topology_key;
        found.report(
            &POD_SPEC
                .below("affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution")
                .index(i),
            Reason::Invalid,
            format!(
                "only nodes with the same {place} as the first pod's node get a running pod; on all \
                 others it stays Pending"
            ),
            "leave the term out",
        );
    }
}
