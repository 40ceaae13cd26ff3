use super::status::{
    budget_eaten::eats_budget, daemon_set::Lack, node_without_pod_since::Lacking, outlook::IDLE,
    refusal::annotate, webhooks::down_for,
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "node-without-pod", group: Cluster;
    title: "nodes lack a working pod",
    summary: "nodes that should have a pod of the DaemonSet, and have none that works",
    scopes: [Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Workload(check) }],
};

#[derive(Default)]
struct Group<'a> {
    nodes: Vec<&'a str>,
    pods: Vec<&'a Pod>,
    lacking: Option<Lacking<'a>>,
}

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if !query.has_pods_to_look_at() {
        return;
    }
    let Some(daemons) = Daemons::of(query) else { return };
    let is_refused = Refusal::of_creation(query).is_some();
    let eaten = eats_budget(query, &daemons).is_some();
    let lacking = daemons.lacking(query);
    let is_of_loop = query.is_of_loop();
    let mut groups: BTreeMap<(Lack, &str), Group<'_>> = BTreeMap::new();
    for (node, pods) in daemons.wanted(query) {
        let Some((lack, pod)) = daemons.lack(query, node, pods) else { continue };
        let lacking = match pod {
            None => lacking.and_then(|it| it.on(query, node)),
            Some(_) => None,
        };
        let is_reported_elsewhere = match pod {
            None => is_refused || lacking.is_none(),
            Some(pod) => eaten && daemons.is_updated(pod) || is_of_loop(pod),
        };
        if is_reported_elsewhere {
            continue;
        }
        let reason = pod.and_then(|pod| pod.trouble.as_deref()).map_or("", |it| &it.reason);
        let group = groups.entry((lack, reason)).or_default();
        group.nodes.push(&node.place.name);
        group.pods.extend(pod);
        group.lacking = lacking;
    }
    for ((lack, _), group) in groups {
        let nodes = format!(
            "{} without a working pod: {}",
            count(group.nodes.len(), "node"),
            names(group.nodes.iter().copied())
        );
        let facts = Facts::title(nodes).nodes(group.nodes.iter().copied());
        // An update replaces the broken pods of the old template first.
        let outlook = |pod: &Pod| match query.set.is_on_delete() || daemons.is_updated(pod) {
            true => query.outlook(pod),
            false => Outlook::new("old", Hold::Slow),
        };
        let (facts, help) = match group.pods.iter().min_by_key(|pod| outlook(pod).hold) {
            Some(pod) => {
                let is = if lack == Lack::Unschedulable { "is Pending" } else { query.is_how(pod) };
                let facts = facts.cause(format!("{} {is}: {}", pod.name, query.why(pod)));
                let facts = facts.since(query.unready_since(pod)).outlook(outlook(pod));
                let names = group.pods.iter().map(|pod| &*pod.name);
                (facts.pods(names), advice(query, &daemons, pod))
            }
            None => {
                let (why, since, help) = of_no_pod(query, group.lacking);
                (facts.cause(why).since(since).outlook(Outlook::new(IDLE, Hold::Passing)), help)
            }
        };
        let is_stuck = !group.pods.iter().any(|pod| pod.has_worked());
        found
            .add(StatusFinding::new(&STATUS.child("numberAvailable"), facts, help).stuck(is_stuck));
    }
}

fn of_no_pod(query: &StatusQuery<'_>, lacking: Option<Lacking<'_>>) -> (String, i64, Help) {
    let since = match lacking {
        Some(Lacking::Since(since)) => since,
        _ => 0,
    };
    let (why, help) = match (down_for(query, Call::NewPod), lacking) {
        (Some(why), _) => (why, Help::say("the set needs no change")),
        (None, Some(Lacking::Unknown(pod))) => (passed_over(pod), look(query, SEE_LOG)),
        (None, _) => (NO_WORD.to_owned(), look(query, SEE_CONTROLLER)),
    };
    (why, since, help)
}

const NO_WORD: &str = "there is no pod, and no event that says why";

/// The status counted the pod as missing when this other pod changed it.
fn passed_over(pod: &Pod) -> String {
    let became = if pod.ready.0 { "ready" } else { "unready" };
    format!(
        "{NO_WORD}; since when is not known, because {} has become {became} since, which changed the \
         status",
        pod.name
    )
}

/// The scheduler says of every node that evicting all other pods would not help.
fn is_too_large(message: &str) -> bool {
    let nodes = message.strip_prefix("0/").and_then(|rest| rest.split_once(' '));
    let all = nodes.map(|(all, _)| format!(": {all} Preemption is not helpful"));
    all.is_some_and(|all| message.contains(&all))
}

/// The controller has not created a pod for the node.
const SEE_CONTROLLER: [&str; 2] = [
    "see whether the controller of DaemonSets runs, which is in kube-controller-manager; ",
    " shows what it did last",
];
/// The controller has counted the node without creating a pod.
const SEE_LOG: [&str; 2] = [
    "the controller of DaemonSets has counted the pod as missing and created none: look in the log of \
     kube-controller-manager; ",
    " shows the events that are left",
];

fn look(query: &StatusQuery<'_>, [text, shows]: [&'static str; 2]) -> Help {
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = Help::say(text).run(describe).and(shows);
    help.and("; it tries again at once after ").run(annotate(query))
}

fn advice(query: &StatusQuery<'_>, daemons: &Daemons<'_>, pod: &Pod) -> Help {
    if let Some(help) = query.not_of_template(pod) {
        return help;
    }
    let trouble = pod.trouble.as_deref();
    match trouble.map(|it| it.kind) {
        Some(NotReadyKind::Unschedulable) => {
            let message = trouble.map(|it| &*it.message).unwrap_or_default();
            let lacks_room =
                ["Insufficient", "Too many pods"].iter().any(|text| message.contains(text))
                    && !is_too_large(message);
            if lacks_room {
                let node = pod.node.as_deref().unwrap_or_default();
                let describe = query.audit.kubectl_anywhere().looks("describe node", &[node]);
                return Help::say("make room on these nodes, or let the template request less; ")
                    .run(describe)
                    .and(
                        " shows what fills one (a higher priorityClassName would evict other pods, \
                         and restart all pods of the set)",
                    );
            }
            let describe = query.kubectl().looks("describe pod", &[&pod.name]);
            Help::say("remove what the scheduler names; ")
                .run(describe)
                .and(" shows the latest attempt")
        }
        _ => query.look_or_undo(daemons.is_updated(pod), pod),
    }
}
