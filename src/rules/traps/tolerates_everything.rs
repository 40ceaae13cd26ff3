//! A toleration of every taint.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "tolerates-everything",
        summary: "a toleration of every taint, so that no taint can move the pods off a node",
        why: "\
`operator: Exists` without a key and an effect tolerates every taint, now and in the future; so do two of
them, one for NoSchedule and one for NoExecute. That is right for pods that make a node work, such as its
network. Any other pod is then started on nodes that are not ready for it and stays on nodes that are drained
by a NoExecute taint. It also stays on nodes with the taint `node.kubernetes.io/out-of-service`, which is how
the volumes of a dead node are freed.

Kubernetes: `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.",
        bad: include_str!("examples/tolerates-everything.bad.yaml"),
        good: include_str!("examples/tolerates-everything.good.yaml"),
        mode: Mode::Audit,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "['NoSchedule', 'NoExecute'].all(e, @pod.?tolerations.orValue([]).exists(t, \
        t.?key.orValue('') == '' && t.?effect.orValue('') in ['', e] && \
        t.?operator.orValue('') == 'Exists' && !has(t.tolerationSeconds)))",
    message: "'every taint is tolerated, so the pods also stay on nodes that are drained by a \
        taint or out of service'",
    help: "list the taints that the pods must tolerate, or at least set the effect",
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let every = |effect: &str| {
        list.iter().position(|it| {
            empty(&it.key)
                && (empty(&it.effect) || it.effect.as_deref() == Some(effect))
                && it.operator.as_deref() == Some("Exists")
                && it.toleration_seconds.is_none()
        })
    };
    // PreferNoSchedule keeps no pod off a node.
    let (Some(_), Some(i)) = (every("NoSchedule"), every("NoExecute")) else { return };
    found.report(
        &TOLERATIONS.index(i),
        Reason::Invalid,
        "every taint is tolerated, so the pods also stay on nodes that are drained by a taint \
         or out of service",
        "list the taints that the pods must tolerate, or at least set the effect",
    );
}
