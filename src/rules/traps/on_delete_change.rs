//! A changed template that the controller does not roll out.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::UPDATE_STRATEGY},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "on-delete-change",
        summary: "a changed template under OnDelete, which running pods do not get",
        why: "\
With `updateStrategy.type: OnDelete` the controller uses the new template only to create missing pods.
Running pods keep the old template until they are deleted by hand. `kubectl rollout status` does not wait: it
fails for this strategy. So it is easy to believe that a fix is live when it has only been applied.

Seen on a 1.36 control plane: after a new template both pods of a DaemonSet keep the old one, UP-TO-DATE 0;
`kubectl rollout status` fails with \"only available for RollingUpdate strategy type\".

The rule ignores objects that a controller owns: an operator that uses OnDelete deletes the pods itself, in
its own order.

Kubernetes: `updateDaemonSet`, pkg/controller/daemon/daemon_controller.go; `updateStatefulSet`,
pkg/controller/statefulset/stateful_set_control.go.",
        bad: include_str!("examples/on-delete-change.bad.yaml"),
        good: include_str!("examples/on-delete-change.good.yaml"),
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
    fault: "@.spec.?updateStrategy.?type.orValue('') == 'OnDelete' && \
        !@.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false)) && \
        @changes",
    message: "'with OnDelete the changed template reaches a pod only when that pod is deleted by \
        hand'",
    help: "delete the pods one by one, or use RollingUpdate",
    only: Some(Operation::Update),
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
    let is_owned = owners.iter().any(|owner| owner.controller == Some(true));
    if is_owned
        || read::strategy(object) != Some("OnDelete")
        || !read::template_changes(subject, cluster)
    {
        return;
    }
    found.report(
        &UPDATE_STRATEGY.child("type"),
        Reason::Invalid,
        "with OnDelete the changed template reaches a pod only when that pod is deleted by hand",
        "delete the pods one by one, or use RollingUpdate",
    );
}
