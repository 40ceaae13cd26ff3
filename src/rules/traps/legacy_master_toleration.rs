//! A toleration of the control plane's old taint alone.

use k8s_openapi::api::core::v1::Toleration;

use super::read;
use crate::{
    finding::{ClusterAssumption, Findings, Fix, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::{cluster::Cluster, tolerations},
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "legacy-master-toleration",
        summary: "a toleration of the control plane's old taint without the new one",
        why: "\
Control plane nodes used to have the taint `node-role.kubernetes.io/master`. kubeadm 1.24 sets
`node-role.kubernetes.io/control-plane` as well, and from 1.25 on only that. A template that tolerates only
the old taint gets no pods on the control plane of a newer cluster, and nothing reports it: a DaemonSet does
not want a pod there and counts as rolled out.

Seen on a 1.36 control plane: with three nodes, one of them with the new taint, a DaemonSet that tolerates
the old one wants two pods.

A cluster that still uses the old taint needs both tolerations; the new one does no harm there.

In a folder or file that is named after a release before 1.24, such as `v1.22` or `agent-k8s-1.22.yaml`, the
finding is only a note, and so it is where one of these is named after a managed cluster, such as `gke`: its
control plane has no nodes.

Kubernetes: `NodeShouldRunDaemonPod`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/legacy-master-toleration.bad.yaml"),
        good: include_str!("examples/legacy-master-toleration.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@pod.?tolerations.orValue([]).exists(t, t.?key.orValue('') == \
        'node-role.kubernetes.io/master' && t.?effect.orValue('') in ['', 'NoSchedule']) && \
        !@pod.?tolerations.orValue([]).exists(t, t.?effect.orValue('') in ['', 'NoSchedule'] \
        && (t.?key.orValue('') == 'node-role.kubernetes.io/control-plane' ? \
        (t.?operator.orValue('') == 'Exists' || t.?value.orValue('') == '') : \
        (t.?key.orValue('') == '' && t.?operator.orValue('') == 'Exists')))",
    message: "'the toleration of node-role.kubernetes.io/master brings no pod to control plane \
        nodes that have the taint node-role.kubernetes.io/control-plane'",
    help: "tolerate node-role.kubernetes.io/control-plane too",
    ..Cel::EMPTY
};

const OLD: &str = "node-role.kubernetes.io/master";
const NEW: &str = "node-role.kubernetes.io/control-plane";

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    // Without an effect a toleration is for all effects. The taint has NoSchedule.
    let is_effective =
        |it: &Toleration| matches!(it.effect.as_deref(), None | Some("" | "NoSchedule"));
    let is_old = |it: &Toleration| it.key.as_deref() == Some(OLD) && is_effective(it);
    let Some(i) = list.iter().position(is_old) else { return };
    if list.iter().any(|it| tolerations::tolerates(it, NEW, "NoSchedule")) {
        return;
    }
    // Those with other effects belong to it. Of several equal tolerations, one copy is enough.
    let old = list.iter().enumerate().filter(|(i, it)| {
        let copy = Toleration { key: Some(NEW.to_owned()), ..Toleration::clone(it) };
        it.key.as_deref() == Some(OLD)
            && !list.iter().take(*i).any(|other| other == *it)
            && !list.contains(&copy)
    });
    found
        .report(
            &TOLERATIONS.index(i).child("key"),
            Reason::Invalid,
            format!("this brings no pod to control plane nodes that have the taint {NEW}"),
            format!("tolerate {NEW} too"),
        )
        .since(24)
        .only_with(ClusterAssumption::ControlPlaneNodes)
        .fixed_by(Fix::copy(old.map(|(i, _)| TOLERATIONS.index(i)), NEW));
}
