use crate::rules::autoscaler_fights_replicas::SCALERS;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "autoscaler-target-missing", group: Rollout;
    title: "the autoscaler has no target",
    summary: "an autoscaler that names another kind than that of the set, or a DaemonSet",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// The kinds whose objects an input shows.
const KINDS: [Kind; 5] = [
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::StatefulSet,
];

/// Kubernetes: `scaleForResourceMappings`, pkg/controller/podautoscaler/horizontal.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let (set, inventory) = (query.item, query.inventory());
    let all = SCALERS.into_iter().flat_map(|kind| inventory.autoscalers(kind, set));
    for (other, autoscaler) in all {
        let is_near = |it: &Kind| it.as_str().eq_ignore_ascii_case(&autoscaler.kind);
        let Some(kind) = KINDS.into_iter().find(is_near) else { continue };
        let is_misspelt = kind == set.kind() && kind.as_str() != &*autoscaler.kind;
        let is_there =
            !is_misspelt && inventory.named(kind, set.namespace(), set.name()).next().is_some();
        let is_of_daemons = [kind, set.kind()] == [Kind::DaemonSet; 2];
        if is_there && !is_of_daemons {
            continue;
        }
        let message = match is_of_daemons {
            true => format!("its {other} scales nothing, because a DaemonSet has no replicas"),
            false if is_misspelt => {
                format!("its {other} scales nothing, because there is no kind {}", autoscaler.kind)
            }
            false => format!(
                "the target of {other} is a {kind} of this name, and the input has only a {}, so nothing scales it",
                set.kind()
            ),
        };
        let help = match set.kind() {
            Kind::DaemonSet => {
                "remove the autoscaler: a DaemonSet has one pod on each node".to_owned()
            }
            own => format!("write kind: {own} in scaleTargetRef"),
        };
        let replicas = SPEC.child("replicas");
        let field = if query.details.sets_replicas { &replicas } else { &POD_SPEC };
        found.via(other.kind(), field, Reason::NotFound, message, help);
    }
}
