//! Daemon pods that must run together.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "self-affinity-in-daemonset",
        summary: "a DaemonSet whose pods must all run in the zone or on the node of the first",
        why: "\
A required podAffinity term that matches the labels of the template itself puts a pod where another one of the
set runs already. The first pod may run anywhere; each other one may run only in its zone (or on its node).
But a daemon's pod is tied to its own node, so on all other nodes it stays Pending forever.

Seen on a 1.34 control plane, two nodes in two zones, with a term by zone: one of two pods is Pending, \"1
node(s) didn't match pod affinity rules\".

Kubernetes: `satisfyPodAffinity`, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go;
`NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/self-affinity-in-daemonset.bad.yaml"),
        good: include_str!("examples/self-affinity-in-daemonset.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::DaemonSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@pod.?affinity.?podAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).exists(term, \
        @itself)",
    message: "'a required podAffinity matches the pods themselves: only nodes in the place of the \
        first pod get a running pod; on all others it stays Pending'",
    help: "leave the term out",
    misses: Some("terms with matchExpressions or namespaces"),
    ..Cel::EMPTY
};

fn check(_: &DaemonSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    for (i, term) in read::self_affinity(&subject.object) {
        let place = &term.topology_key;
        found.report(
            &POD_SPEC
                .child("affinity")
                .child("podAffinity")
                .child("requiredDuringSchedulingIgnoredDuringExecution")
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
