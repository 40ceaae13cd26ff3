//! A template with setguard's own annotation for one node.

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TEMPLATE},
    kubernetes::{cluster::Cluster, resource::WorkloadKind},
    object::{Subject, annotations::NODE_ANNOTATION},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "template-node-annotation",
        summary: "setguard.io/node in a template, which asks for one node for all pods",
        why: "\
A paired controller sets the annotation setguard.io/node on each pod that it creates, to the node that the pod
is for. In a template, every pod gets the same node.

The built-in DaemonSet controller copies the template's annotations and ties each pod to the node that the
pod is for. The controller is on setguard's list of paired controllers. So setguard sees a pod that is tied to
one node and annotated with another, and denies it (`node-pin-conflict`): the daemon runs on one node only.
The pods of a StatefulSet are all pinned to that node if its controller is on the list. If it is not, the
annotation has no effect, and setguard warns about each pod.

Seen on a 1.36 control plane: of four nodes, one got its pod, and the controller reported FailedCreate for the
others again and again.

Kubernetes: `GetPodFromTemplate`, pkg/controller/controller_utils.go;
`ReplaceDaemonSetPodNodeNameNodeAffinity`, pkg/controller/daemon/util/daemonset_util.go.",
        bad: include_str!("examples/template-node-annotation.bad.yaml"),
        good: include_str!("examples/template-node-annotation.good.yaml"),
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
    fault: "'setguard.io/node' in @.spec.template.?metadata.?annotations.orValue({})",
    message: "'all pods ask for the node ' + \
        @.spec.template.metadata.annotations['setguard.io/node']",
    help: "remove it: only a paired controller sets it, on each pod that it creates",
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let metadata = subject.object.template().metadata.as_ref();
    let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
    let Some(node) = annotations.and_then(|it| it.get(NODE_ANNOTATION)) else { return };
    let message = match subject.object.kind() {
        WorkloadKind::DaemonSet => format!(
            "the pods of all nodes but {node:?} are denied: each is annotated with {node:?} and \
             tied to its own node"
        ),
        WorkloadKind::StatefulSet => format!(
            "all pods ask for node {node:?}: they are pinned to it, or warned about if the \
             controller is not on the list of paired controllers"
        ),
    };
    let metadata = TEMPLATE.child("metadata");
    let annotations = metadata.child("annotations");
    found.report(
        &annotations.key(NODE_ANNOTATION),
        Reason::Forbidden,
        message,
        "remove it: only a paired controller sets it, on each pod that it creates",
    );
}
