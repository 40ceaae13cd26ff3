//! The network plugin or storage driver of a node without a priority.

use super::read;
use crate::{
    finding::{ClusterAssumption, Findings, Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "daemon-without-priority",
        summary: "a network, storage or device plugin of the node without a priorityClassName",
        why: "\
A DaemonSet that installs a network plugin, a storage driver or a device plugin must run on every node, or
the node's other pods do not work. Without a priority its pod competes with those pods, and on a full node it
stays Pending until one of them ends.

Seen on a 1.36 control plane, with a node whose CPU another pod has requested: the pod of a DaemonSet stays
Pending with \"Insufficient cpu\" and \"No preemption victims found\"; with
`priorityClassName: system-node-critical` the other pod is evicted at once and the daemon is scheduled. So
the class is a choice: the pods that it is to evict need a lower priority, and those that it must not evict an
equal or a higher one. A class with `preemptionPolicy: Never` evicts nothing.

In a folder for a local cluster, such as `kind` or `minikube`, and for a plugin whose image is a sample by its
name, `check` only notes it.

The rule finds DaemonSets that mount a hostPath in /etc/cni, /opt/cni or the kubelet's folders for plugins,
and can write there; all folders for storage plugins together are mounted by backups too, and don't count. It
cannot see whether the cluster has a PriorityClass with globalDefault.

Kubernetes: `PodEligibleToPreemptOthers` and `SelectVictimsOnNode`,
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.",
        bad: include_str!("examples/daemon-without-priority.bad.yaml"),
        good: include_str!("examples/daemon-without-priority.good.yaml"),
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
    fault: "@pod.?priorityClassName.orValue('') == '' && !has(@pod.priority) && \
        @volumes@few && @volumes.exists(v, \
        v.?hostPath.?path.orValue('').matches('^((/etc/cni|/opt/cni|/var/lib/kubelet/plugins_registry|/var/lib/kubelet/device-plugins)(/|$)|/var/lib/kubelet/plugins/+[^/])') \
        && @all.exists(c, c.?volumeMounts.orValue([]).exists(m, m.name == v.name && \
        !m.?readOnly.orValue(false))))",
    message: "'a plugin for the network, storage or devices without a priorityClassName stays \
        Pending on a full node'",
    help: "set priorityClassName to a PriorityClass of your own; it evicts pods of a lower \
        priority from a full node, and system-node-critical evicts those of nearly all \
        others, databases too",
    ..Cel::EMPTY
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = &spec.template.spec else { return };
    let has_class = pod.priority_class_name.as_deref().is_some_and(|name| !name.is_empty());
    if has_class || pod.priority.is_some() {
        return;
    }
    let Some((path, purpose)) = read::plugin_folder(pod) else { return };
    found
        .report(
            &POD_SPEC,
            Reason::Required,
            format!(
                "the hostPath {path} belongs to a plugin for {purpose}, but on a full node this pod \
                 stays Pending, because it has no priorityClassName"
            ),
            "set priorityClassName to a PriorityClass of your own; it evicts pods of a lower priority from a \
             full node, and system-node-critical evicts those of nearly all others, databases too",
        )
        .only_with(ClusterAssumption::FullNodes);
}
