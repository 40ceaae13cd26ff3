use super::status::volumes::{Elsewhere, elsewhere};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "volume-elsewhere", group: Cluster;
    title: "no node of the volume runs the pod",
    summary: "a pod of a StatefulSet whose volume is bound to nodes that cannot run it",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(replicas) = Replicas::of(query) else { return };
    for (ordinal, elsewhere) in elsewhere(query, &replicas) {
        if let Some(pod) = replicas.pods.get(&ordinal) {
            let (cause, help) = explain(query, pod, &elsewhere);
            let facts = Facts::title(format!("{} is Pending", pod.name)).cause(cause);
            let facts = facts.since(query.unready_since(pod)).pods([&*pod.name]);
            found.add(StatusFinding::new(
                &CLAIM_TEMPLATES,
                facts.outlook(query.outlook(pod)),
                help,
            ));
        }
    }
}

fn explain(query: &StatusQuery<'_>, pod: &Pod, elsewhere: &Elsewhere<'_>) -> (String, Help) {
    let Elsewhere { claim, volume, nodes } = elsewhere;
    let all = names(nodes.iter().map(|node| node.place.name.as_str()));
    let cordoned = nodes.iter().find(|node| node.is_cordoned && node.not_ready.is_none());
    let where_ = match (nodes.len(), cordoned) {
        (0, _) => "on no node that exists".to_owned(),
        (_, Some(_)) => format!("on {all} only, which cannot be used: cordoned"),
        (_, None) => format!("on {all} only, which cannot be used: not ready"),
    };
    let cause =
        format!("its claim {claim} is bound to volume {volume}, which can be used {where_}");
    let kubectl = query.kubectl();
    // A claim in use lasts until its pod ends.
    let delete_pod = kubectl.does(Effect::Restarts(1), "delete pod", &[&pod.name]);
    let give_up =
        kubectl.does(Effect::LosesData, "delete pvc", &[claim, "--wait=false"]).then(&delete_pod);
    let back = "bring a node back that can use the volume";
    let help = match cordoned {
        Some(node) => {
            let kubectl = query.audit.kubectl_anywhere();
            let uncordon = kubectl.does(Effect::Changes, "uncordon", &[&node.place.name]);
            Help::say("let the node take pods again: ").run(uncordon)
        }
        None if is_provisioned(query, claim) => Help::say(back)
            .and("; or, if its data may be lost, begin with an empty volume: ")
            .run(give_up),
        None => Help::say(back).and(
            "; nothing would provision another one, so do not delete the claim before there is a \
             volume for it",
        ),
    };
    (cause, help)
}

/// A new claim of the same class certainly gets a volume.
fn is_provisioned(query: &StatusQuery<'_>, claim: &str) -> bool {
    let observed = query.audit.observed;
    let class = observed.claim(query.set.namespace(), claim).and_then(|it| it.class.as_deref());
    let class = class.and_then(|name| observed.class(name));
    class.is_some_and(|class| &*class.provisioner != "kubernetes.io/no-provisioner")
}
