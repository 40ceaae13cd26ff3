use super::{
    pod_stuck_terminating,
    status::budget_eaten::{Eaten, Surge, eats_budget, stuck_surge},
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "rollout-budget-eaten", group: Cluster;
    title: "broken pods or nodes use up maxUnavailable",
    summary: "an update of a DaemonSet that waits for nodes or pods that do not recover",
    scopes: [Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if !query.has_pods_to_look_at() {
        return;
    }
    let Some(daemons) = Daemons::of(query) else { return };
    if let Some(surge) = stuck_surge(query, &daemons) {
        found.add(of_surge(query, &daemons, &surge));
    }
    if let Some(eaten) = eats_budget(query, &daemons) {
        found.add(of_eaten(query, &daemons, &eaten));
    }
}

fn of_eaten(query: &StatusQuery<'_>, daemons: &Daemons<'_>, eaten: &Eaten<'_>) -> StatusFinding {
    let Eaten { counted, dead, broken, ending, .. } = eaten;
    let (mut who, mut help) = (Vec::new(), None);
    who.extend(of_dead(dead));
    if let Some(pod) = broken.first() {
        who.push(of_broken(query, pod, broken.len()));
        help = Some(query.look_or_undo(true, pod));
    }
    if let Some(pod) = ending.first() {
        let all: Vec<&str> = ending.iter().map(|pod| &*pod.name).collect();
        let (why, how) = pod_stuck_terminating::explain(query, pod, &all);
        let when = since(pod.deleted.unwrap_or_default());
        who.push(format!("{} should be gone {when}: {why}", names(all.iter().copied())));
        help = help.or(Some(how));
    }
    // The update goes on as soon as one of them recovers.
    let down = dead.iter().filter_map(|(node, _)| node.not_ready.map(Hold::Since));
    let pods = broken.iter().chain(ending).map(|pod| query.outlook(pod).hold);
    let hold = down.chain(pods).max().unwrap_or_default();
    let begun = dead.iter().filter_map(|(node, _)| node.not_ready);
    let begun = begun.chain(broken.iter().map(|pod| query.unready_since(pod)));
    let begun = begun.chain(ending.iter().filter_map(|pod| pod.deleted)).min();
    let held = dead.iter().map(|(_, pod)| pod).chain(broken).chain(ending);
    let facts = Facts::title("the update does not go on")
        .cause(who.join("; "))
        .effect(counted.consequence())
        .since(begun.unwrap_or_default())
        .pods(held.map(|pod| &*pod.name))
        .nodes(dead.iter().map(|(node, _)| node.place.name.as_str()))
        .outlook(Outlook::new("budget", hold));
    let help = help.unwrap_or_else(|| despite_dead_nodes(query, daemons, eaten));
    StatusFinding::new(&MAX_UNAVAILABLE, facts, help).stuck(true)
}

/// `node n1 is not ready since …`
fn of_dead(dead: &[(&Node, &Pod)]) -> Option<String> {
    let (first, _) = dead.first()?;
    let list = names(dead.iter().map(|(node, _)| node.place.name.as_str()));
    let when = since(first.not_ready.unwrap_or_default());
    Some(match dead.len() {
        1 => format!("node {list} is not ready {when}"),
        _ => format!("nodes {list} are not ready, the first {when}"),
    })
}

/// `agent-x on node n1 is not ready, like 2 other new pods: …`
fn of_broken(query: &StatusQuery<'_>, pod: &Pod, all: usize) -> String {
    let others = match all {
        1 => String::new(),
        others => format!(", like {}", count(others - 1, "other new pod")),
    };
    let (why, is) = (query.why(pod), query.is_how(pod));
    let node = pod.node.as_deref().unwrap_or_default();
    format!("{} on node {node} {is}{others}: {why}", pod.name)
}

/// Only nodes that are down hold up the update.
fn despite_dead_nodes(
    query: &StatusQuery<'_>,
    daemons: &Daemons<'_>,
    Eaten { budget, dead, .. }: &Eaten<'_>,
) -> Help {
    let rolling = daemons.set.spec.update_strategy.as_ref();
    let rolling = rolling.and_then(|it| it.rolling_update.as_ref());
    let most = rolling.and_then(|it| it.max_unavailable.as_ref());
    let percent = most.and_then(int_or_percent::percentage);
    let raised = raised(percent, budget.desired, budget.allowed, dead.len());
    let patch = serde_json::json!({"spec": {"updateStrategy": {"rollingUpdate": {
        "maxUnavailable": raised}}}});
    let (these, them) = match dead.len() {
        1 => ("the node", "it"),
        _ => ("these nodes", "them"),
    };
    let updated = daemons.set.status.updated_number_scheduled.unwrap_or_default();
    let old = positive(budget.desired.saturating_sub(updated));
    let patch = query.patch(Effect::Restarts(old), &patch.to_string());
    Help::say(format!("repair or remove {these}, or let the update go on despite {them}: "))
        .run(patch)
}

static MAX_UNAVAILABLE: Path<'static> = ROLLING_UPDATE.child("maxUnavailable");

fn of_surge(
    query: &StatusQuery<'_>,
    daemons: &Daemons<'_>,
    Surge { allowed, broken }: &Surge<'_>,
) -> StatusFinding {
    let pod = broken.first().copied();
    let who = pod.map_or_else(String::new, |pod| of_broken(query, pod, broken.len()));
    let effect = format!(
        "maxSurge allows {allowed} new {} that {} not available, so the old ones stay",
        if *allowed == 1 { "pod" } else { "pods" },
        if *allowed == 1 { "is" } else { "are" }
    );
    let begun = broken.iter().map(|pod| query.unready_since(pod)).min();
    let facts = Facts::title("the update does not go on")
        .cause(who)
        .effect(effect)
        .since(begun.unwrap_or_default())
        .pods(broken.iter().map(|pod| &*pod.name))
        .outlook(pod.map_or_else(Outlook::default, |pod| query.outlook(pod)));
    let help = match pod {
        Some(pod) if pod.is_unschedulable() => {
            let updated = daemons.set.status.updated_number_scheduled.unwrap_or_default();
            let old = daemons.set.status.desired_number_scheduled.saturating_sub(updated);
            // A pod on a node that is down uses up maxUnavailable too.
            let nodes = daemons.nodes.iter();
            let dead = nodes.filter(|(node, _, pods)| node.not_ready.is_some() && !pods.is_empty());
            let patch = serde_json::json!({"spec": {"updateStrategy": {"rollingUpdate": {
                "maxSurge": 0, "maxUnavailable": 1 + dead.count()}}}});
            let patch = query.patch(Effect::Restarts(positive(old)), &patch.to_string());
            Help::say("make room for two pods, or let each old pod go before its new one comes: ")
                .run(patch)
        }
        Some(pod) => query.look_or_undo(true, pod),
        None => Help::say(""),
    };
    StatusFinding::new(&SURGE, facts, help).stuck(true)
}

static SURGE: Path<'static> = ROLLING_UPDATE.child("maxSurge");

/// Allows as many pods in addition to the dead nodes as the present value allows without them; in percent if the
/// present value is.
fn raised(percent: Option<i64>, desired: i32, allowed: i64, dead: usize) -> serde_json::Value {
    let count = allowed.saturating_add(i64::try_from(dead).unwrap_or(i64::MAX));
    match percent {
        Some(_) if desired > 0 => {
            let desired = i64::from(desired);
            // The controller rounds up too.
            let percent = count.saturating_mul(100).saturating_add(desired - 1) / desired;
            format!("{}%", percent.min(100)).into()
        }
        _ => count.into(),
    }
}
