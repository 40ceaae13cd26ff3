use crate::kubernetes::tolerations::Index;
use crate::rules::prelude::*;

pub(crate) static RULE: Rule = rule! {
    id: "toleration-seconds-loop", group: Nodes, cel: "cel.yaml";
    title: "the daemon is evicted again and again",
    summary: "tolerationSeconds on a daemon: it is evicted and recreated again and again",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check)),
        // Injection reports it for pods.
        Scope::Engine { kinds: &[Kind::Pod], by: &[Runner::Mutate] },
    ],
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
        let message = format!(
            "after {seconds} seconds a daemon's pod is evicted from a tainted node, recreated \
             on the same node, and evicted again"
        );
        let help = "remove tolerationSeconds, or the toleration";
        found.report(&path.child("tolerationSeconds"), Reason::Invalid, message, help);
    }
}

/// The controller replaces such a toleration with its own, without a time limit. Kubernetes: `MatchToleration`,
/// staging/src/k8s.io/api/core/v1/toleration.go.
fn is_replaced(toleration: &Toleration) -> bool {
    let own = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    toleration.key.as_deref().is_some_and(|key| own.contains(&key))
        && toleration.operator.as_deref() == Some("Exists")
        && toleration.effect.as_deref() == Some("NoExecute")
}
