//! A daemon's toleration that ends.

use k8s_openapi::api::core::v1::Toleration;

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::{cluster::Cluster, tolerations},
    object::{DaemonSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(crate) static TRAP: Trap = Trap {
    meta: Meta {
        id: "toleration-seconds-loop",
        summary: "a daemon's tolerationSeconds that has it evicted and made again, for ever",
        why: "\
A toleration with `tolerationSeconds` lets a pod stay on a tainted node for that long. A daemon's pod that
is evicted is made again on the same node, tolerates the taint for the same seconds, and is evicted again.

Of all tolerations of a taint, the first in the list decides. The DaemonSet controller adds its own for
`node.kubernetes.io/not-ready` and `unreachable`, without a limit, at the end; it puts them in the place of
yours only where yours says exactly the same: `operator: Exists`, that key and `effect: NoExecute`.

Seen on a 1.36 control plane: `operator: Exists, effect: NoExecute, tolerationSeconds: 3` without a key, on a
node with a NoExecute taint: a new pod every three seconds. The same with
`key: node.kubernetes.io/not-ready, effect: NoExecute` (the operator is then `Equal`) and with a key of
one's own.

A pod that is made for one node is treated the same: setguard puts the daemon's own toleration before the
one with a limit, and warns.

Kubernetes: `AddOrUpdateTolerationInPodSpec`, `GetMatchingTolerations`, pkg/apis/core/v1/helper/helpers.go;
`processPodOnNode`, pkg/controller/tainteviction/taint_eviction.go.",
        bad: include_str!("examples/toleration-seconds-loop.bad.yaml"),
        good: include_str!("examples/toleration-seconds-loop.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Holds,
    check: Check::DaemonSet(check),
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let pod = spec.template.spec.as_ref();
    let list = pod.and_then(|pod| pod.tolerations.as_deref()).unwrap_or_default();
    for (i, toleration) in list.iter().enumerate() {
        let Some(seconds) = toleration.toleration_seconds else { continue };
        let unlimited = |it: &&Toleration| it.toleration_seconds.is_none();
        let mut before = list[..i].iter().filter(unlimited);
        if is_replaced(toleration) || before.any(|it| tolerations::covers(it, toleration)) {
            continue;
        }
        let path = TOLERATIONS.index(i);
        found.report(
            &path.child("tolerationSeconds"),
            Reason::Invalid,
            format!(
                "a daemon's pod that leaves a tainted node after {seconds} seconds is made \
                 again on the same node, and so on"
            ),
            "remove tolerationSeconds, or the toleration",
        );
    }
}

/// Whether the controller's own toleration, which has no limit, takes the place of this one.
///
/// Kubernetes: `MatchToleration`, staging/src/k8s.io/api/core/v1/toleration.go.
fn is_replaced(toleration: &Toleration) -> bool {
    let own = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    toleration.key.as_deref().is_some_and(|key| own.contains(&key))
        && toleration.operator.as_deref() == Some("Exists")
        && toleration.effect.as_deref() == Some("NoExecute")
}
