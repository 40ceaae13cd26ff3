//! An update that takes all pods down at once.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::read;
use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
    object::{DaemonSetSpec, Subject, Workload},
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "max-unavailable-everything",
        summary: "maxUnavailable so high that an update takes all pods down at once",
        why: "\
With `maxUnavailable: 100%` a rolling update deletes all old pods at once: on every node the network plugin or
the storage driver is missing until its new image is pulled and has started, and a bad image is everywhere
before anybody notices. 100% in a DaemonSet is meant by its author, so it is reported only where other pods of
the node need the daemon: if it can write to a folder of the node for plugins of the network, of storage or of
devices. The percentage of a DaemonSet is rounded up, so 60% of 2 nodes is both of them. A value other than
100% is evaluated only in an update, by the number of nodes in the stored status of the DaemonSet. The
percentage of a StatefulSet is rounded down, but to at least 1, and is looked at only if the feature gate
MaxUnavailableStatefulSet is on.

Seen on a 1.36 control plane: when a DaemonSet on 2 nodes with 60% gets a new image, both ready pods are
deleted in the same second.

Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go; `getStatefulSetMaxUnavailable`,
pkg/controller/statefulset/stateful_set_utils.go.",
        bad: include_str!("examples/max-unavailable-everything.bad.yaml"),
        good: include_str!("examples/max-unavailable-everything.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let all = match &subject.object.workload {
        Workload::DaemonSet(spec) => daemon_set(subject, spec, cluster),
        Workload::StatefulSet(spec) if cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) => {
            let replicas = spec.replicas.unwrap_or(1);
            let at_once = read::max_unavailable(spec).unwrap_or(1);
            let updates_all = read::partition(spec) == Some(0) && replicas > 1;
            (updates_all && at_once >= replicas.into()).then(|| format!("all {replicas} pods"))
        }
        Workload::StatefulSet(_) => None,
    };
    let Some(all) = all else { return };
    found
        .report(
            &ROLLING_UPDATE.child("maxUnavailable"),
            Reason::Invalid,
            format!("an update takes {all} down at once, and a bad template breaks all of them"),
            "use a lower value, such as 1 or 10%",
        )
        .fixed_by(Fix::use_default(&ROLLING_UPDATE.child("maxUnavailable")));
}

/// Returns the pods that an update takes down at once, if these are all of them. A value other than
/// 100% can only be evaluated if the old object's status contains the number of nodes.
fn daemon_set(subject: &Subject<'_>, spec: &DaemonSetSpec, cluster: &Cluster) -> Option<String> {
    let value = max_unavailable(spec)?;
    // Not only `100%`: the API server also accepts `0100%`.
    if matches!(value, IntOrString::String(_)) && read::scaled(value, 100, false) == Some(100) {
        let is_needed =
            spec.template.spec.as_ref().is_some_and(|it| read::plugin_folder(it).is_some());
        return is_needed.then(|| "the pods on all nodes".to_owned());
    }
    // One pod is all pods only on a single node, which isn't reported. No status is needed.
    if matches!(value, IntOrString::Int(..=1)) {
        return None;
    }
    let old = subject.old()?;
    let Workload::DaemonSet(old_spec) = &old.workload else { return None };
    let nodes = read::daemon_set_status(old)?.desired_number_scheduled;
    let at_once = read::scaled(value, nodes, true)?;
    let changes =
        || max_unavailable(old_spec) != Some(value) || read::template_changes(subject, cluster);
    (nodes > 1 && at_once >= nodes.into() && changes())
        .then(|| format!("the pods on all {nodes} nodes"))
}

fn max_unavailable(spec: &DaemonSetSpec) -> Option<&IntOrString> {
    let strategy = spec.update_strategy.as_ref()?;
    let rolls = strategy.type_.as_deref() == Some("RollingUpdate");
    strategy.rolling_update.as_ref().filter(|_| rolls)?.max_unavailable.as_ref()
}
