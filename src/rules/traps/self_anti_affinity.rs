//! Replicas that must not share a node or zone.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "self-anti-affinity",
        summary: "replicas that must not share a node or zone, so that each needs its own",
        why: "\
A required podAntiAffinity term that matches the labels of the template itself allows one replica for
each value of its `topologyKey`. That is often intended: one member of a quorum per node. It also means
that with fewer nodes (or zones) than replicas the rest stays Pending, that autoscaling of the replicas
ends at the number of nodes, and that the pod of a drained node waits until another node is free.
Because it is often intended, findings are counted and not shown.

Seen on a 1.36 control plane with 2 nodes: 3 replicas; two pods are placed, the third stays Pending
with \"2 node(s) didn't match pod anti-affinity rules\".

Kubernetes: `satisfyPodAntiAffinity`, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.",
        bad: include_str!("examples/self-anti-affinity.bad.yaml"),
        good: include_str!("examples/self-anti-affinity.good.yaml"),
        mode: Mode::Audit,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@replicas >= 2 && \
        @pod.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).exists(term, \
        @itself)",
    message: "'each of the ' + string(@replicas) + ' replicas needs a node or zone of its own, and \
        those that find none stay Pending'",
    help: "use topologySpreadConstraints or a preferred term if two may share one",
    misses: Some("terms with matchExpressions or namespaces"),
    ..Cel::EMPTY
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
            .child("affinity")
            .child("podAntiAffinity")
            .child("requiredDuringSchedulingIgnoredDuringExecution")
            .index(i),
        Reason::Invalid,
        format!(
            "each of the {replicas} replicas needs a {place} of its own, and those that find none \
             stay Pending"
        ),
        "use topologySpreadConstraints or a preferred term if two may share one",
    );
}
