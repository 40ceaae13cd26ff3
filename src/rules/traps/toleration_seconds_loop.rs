//! A daemon's toleration with a time limit.

use k8s_openapi::api::core::v1::Toleration;

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::{cluster::Cluster, tolerations::Index},
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(crate) static RULE: Rule = Rule {
    meta: Meta {
        id: "toleration-seconds-loop",
        summary: "tolerationSeconds on a daemon, which is evicted and recreated again and again",
        why: "\
A toleration with `tolerationSeconds` lets a pod stay on a tainted node for that long. A daemon's pod that
is evicted is recreated on the same node, tolerates the taint for the same time, and is evicted again.

If several tolerations match a taint, the first in the list decides. The DaemonSet controller appends its
own for `node.kubernetes.io/not-ready` and `unreachable`, without a limit. It replaces yours only if yours
has exactly `operator: Exists`, that key and `effect: NoExecute`.

Seen on a 1.36 control plane: `operator: Exists, effect: NoExecute, tolerationSeconds: 3` without a key, on a
node with a NoExecute taint: a new pod every three seconds. The same with
`key: node.kubernetes.io/not-ready, effect: NoExecute` (the operator is then `Equal`) and with a custom key.

The rule also looks at pods that are created for one node: setguard puts the daemon's own toleration before
the one with a limit, and warns.

Kubernetes: `AddOrUpdateTolerationInPodSpec`, `GetMatchingTolerations`, pkg/apis/core/v1/helper/helpers.go;
`processPodOnNode`, pkg/controller/tainteviction/taint_eviction.go.",
        bad: include_str!("examples/toleration-seconds-loop.bad.yaml"),
        good: include_str!("examples/toleration-seconds-loop.good.yaml"),
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
    fault: "@tolerations@few && @tolerations.exists(t, has(t.tolerationSeconds) && !(t.?key.orValue('') in \
        ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] && \
        t.?operator.orValue('') == 'Exists' && t.?effect.orValue('') == 'NoExecute') && \
        !@tolerations.exists(u, !has(u.tolerationSeconds) && (u.?key.orValue('') == '' || u.?key.orValue('') == t.?key.orValue(''))))",
    message: "'after tolerationSeconds a pod of the daemon is evicted from a tainted node, \
        recreated on the same node, and evicted again'",
    help: "remove tolerationSeconds, or the toleration",
    misses: Some("tolerations with a key for which another one has no limit"),
    ..Cel::EMPTY
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let pod = spec.template.spec.as_ref();
    let list = pod.and_then(|pod| pod.tolerations.as_deref()).unwrap_or_default();
    let all = list.iter().enumerate();
    let unlimited = Index::of(all.clone().filter(|(_, it)| it.toleration_seconds.is_none()));
    for (i, toleration) in all {
        let Some(seconds) = toleration.toleration_seconds else { continue };
        if is_replaced(toleration) || unlimited.first_before(i, toleration).is_some() {
            continue;
        }
        let path = TOLERATIONS.index(i);
        found.report(
            &path.child("tolerationSeconds"),
            Reason::Invalid,
            format!(
                "after {seconds} seconds a daemon's pod is evicted from a tainted node, recreated \
                 on the same node, and evicted again"
            ),
            "remove tolerationSeconds, or the toleration",
        );
    }
}

/// Returns whether the controller replaces this toleration by its own, which has no limit.
///
/// Kubernetes: `MatchToleration`, staging/src/k8s.io/api/core/v1/toleration.go.
fn is_replaced(toleration: &Toleration) -> bool {
    let own = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    toleration.key.as_deref().is_some_and(|key| own.contains(&key))
        && toleration.operator.as_deref() == Some("Exists")
        && toleration.effect.as_deref() == Some("NoExecute")
}
