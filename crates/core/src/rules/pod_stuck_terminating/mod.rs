use super::status::budget_eaten::eats_budget;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pod-stuck-terminating", group: Cluster;
    title: "the deletion of a pod does not end",
    summary: "a pod whose deletion does not end",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if let Some(replicas) = Replicas::of(query) {
        let (effect, is_stuck) = (replicas.holds_up(), replicas.is_replacing());
        let pods = replicas.pods.into_values().collect();
        report(query, pods, &STATUS.child("readyReplicas"), effect.as_ref(), is_stuck, found);
        return;
    }
    let daemons = Daemons::of(query).filter(|_| query.has_pods_to_look_at());
    let daemons =
        daemons.filter(|it| eats_budget(query, it).is_none_or(|eaten| eaten.ending.is_empty()));
    let Some(daemons) = daemons else { return };
    let keeps_old = |pods: &[&Pod]| {
        let is_old = |pod: &&Pod| pod.deleted.is_some() && !daemons.is_updated(pod);
        daemons.knows_revision() && !query.set.is_on_delete() && pods.iter().all(is_old)
    };
    // Only on nodes that should have a pod and are ready.
    let nodes = daemons.nodes.iter().filter(|(node, placement, _)| {
        node.not_ready.is_none() && !matches!(placement, Placement::Loses(_))
    });
    let (old, others): (Vec<_>, Vec<_>) =
        nodes.map(|(.., pods)| &**pods).partition(|pods| keeps_old(pods));
    let effect = "the node gets no pod of the new template before that".to_owned();
    let path = STATUS.child("numberReady");
    report(query, old.concat(), &path, Some(&effect), true, found);
    report(query, others.concat(), &path, None, false, found);
}

/// `effect` is the effect on a rollout.
fn report(
    query: &StatusQuery<'_>,
    pods: Vec<&Pod>,
    path: &Path<'_>,
    effect: Option<&String>,
    is_stuck: bool,
    found: &mut StatusFindings,
) {
    // By node and finalizers.
    let mut groups: BTreeMap<_, Vec<(i64, &Pod)>> = BTreeMap::new();
    for pod in pods {
        if let Some(deleted) = pod.deleted.filter(|it| query.audit.is_long_ago(*it)) {
            let cause = (pod.node.as_deref(), pod.finalizers.as_deref());
            groups.entry(cause).or_default().push((deleted, pod));
        }
    }
    for pods in groups.values() {
        let Some((deleted, first)) = pods.first() else { continue };
        let list: Vec<&str> = pods.iter().map(|(_, pod)| &*pod.name).collect();
        let (why, help) = explain(query, first, &list);
        let who = names(list.iter().copied());
        let facts = Facts::title(format!("{who} should be gone")).cause(why).since(*deleted);
        let facts = facts.pods(list.iter().copied()).nodes(first.node.as_deref());
        let facts = facts.effect(effect.cloned()).outlook(query.outlook(first));
        found.add(StatusFinding::new(path, facts, help).stuck(is_stuck));
    }
}

/// The reason why the deletion of a pod does not end, and the advice about it and others like it.
pub(super) fn explain(query: &StatusQuery<'_>, pod: &Pod, all: &[&str]) -> (String, Help) {
    let observed = query.audit.observed;
    let (list, more) = words(all);
    let force = [list, &["--force", "--grace-period=0"]].concat();
    let force = query.kubectl().does(Effect::LosesData, "delete pod", &force);
    if let Some(finalizers) = pod.finalizers.as_ref().filter(|_| pod.deleted.is_some()) {
        let why = format!("it waits for its finalizers ({finalizers})");
        return (why, unpin(query, "patch pod", &pod.name));
    }
    let Some(name) = pod.node.as_deref() else {
        let help = Help::say("no kubelet ends it; run ").run(force).and(more);
        return ("it was never bound to a node".to_owned(), help);
    };
    match observed.node(name) {
        Some(node) if node.not_ready.is_some() => {
            let out = format!("{OUT_OF_SERVICE}=nodeshutdown:NoExecute");
            let kubectl = query.audit.kubectl_anywhere();
            let taint = kubectl.does(Effect::LosesData, "taint node", &[name, &out]);
            let untaint = back_in_service(query.audit, name);
            (
                format!(
                    "its node {name} is not ready {}, so nobody knows whether its containers have ended",
                    since(node.not_ready.unwrap_or_default())
                ),
                Help::say("bring the node back; or, once it is powered off, run ")
                    .run(taint)
                    .and(", and it loses its other pods too; when it comes back, run ")
                    .run(untaint),
            )
        }
        None if observed.knows(Kind::Node, "") => (
            format!("its node {name} does not exist"),
            Help::say("make sure that the machine is powered off, and then run ")
                .run(force)
                .and(more),
        ),
        _ => (
            format!("the kubelet of {name} has not ended it{}", failed_end(query, pod)),
            Help::say(format!("look at the kubelet of {name}; if the containers have ended, run "))
                .run(force)
                .and(more),
        ),
    }
}

pub(super) fn unpin(query: &StatusQuery<'_>, patch: &str, name: &str) -> Help {
    let words =
        [name, "--type", "json", "-p", r#"[{"op":"remove","path":"/metadata/finalizers"}]"#];
    let remove = query.kubectl().does(Effect::LosesData, patch, &words);
    Help::say("find out which client should remove them; if it no longer exists, run ").run(remove)
}

/// The kubelet may record why it could not end a pod.
fn failed_end(query: &StatusQuery<'_>, pod: &Pod) -> String {
    let events = query.audit.observed.events(query.set.namespace(), Kind::Pod, &pod.name);
    let said = events.iter().find(|it| &*it.reason == "FailedKillPod");
    said.map_or_else(String::new, |it| format!(": {}", one_line(&it.message)))
}

/// Marks a node as powered off. Nobody but a user removes this taint.
pub(super) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

pub(super) fn back_in_service(audit: &Audit<'_>, node: &str) -> Command {
    let taint = format!("{OUT_OF_SERVICE}-");
    audit.kubectl_anywhere().does(Effect::Changes, "taint node", &[node, &taint])
}
