use crate::rollout::daemon_set::Settings;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "two-pods-on-node", group: Cluster;
    title: "a node has two pods of the DaemonSet",
    summary: "nodes with two pods of the DaemonSet, or more",
    scopes: [Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let (nodes, excess) = excess(query);
    if nodes.is_empty() {
        return;
    }
    let why = Refusal::of_deletion(query);
    let why = why.map(|why| format!("; their deletion is refused: {}", why.message));
    let title = format!(
        "{} with more than one of its pods ({})",
        count(nodes.len(), "node"),
        names(nodes.iter().copied())
    );
    let list = names(excess.iter().copied());
    let cause = format!("{list} should not be there{}", why.as_deref().unwrap_or_default());
    let facts =
        Facts::title(title).cause(cause).pods(excess.iter().copied()).nodes(nodes.iter().copied());
    let (first, more) = words(&excess);
    let delete = query.kubectl().does(Effect::Restarts(first.len()), "delete pod", first);
    let help = match why {
        Some(_) => {
            Help::say("let the controller delete pods; until then, run ").run(delete).and(more)
        }
        None => Help::say("run ")
            .run(delete)
            .and(more)
            .and("; if they come back, see why the controller does not delete them"),
    };
    let path = STATUS.child("currentNumberScheduled");
    found.add(StatusFinding::new(&path, facts, help));
}

/// The nodes with too many pods, and the pods that the controller should have deleted.
pub(in crate::rules) fn excess<'a>(query: &StatusQuery<'a>) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut nodes, mut excess) = (Vec::new(), Vec::new());
    let Some(daemons) = Daemons::with_pods(query) else { return (nodes, excess) };
    for (node, _, pods) in &daemons.nodes {
        let is_there = |pod: &&&Pod| pod.deleted.is_none() && !pod.has_ended;
        let mut pods: Vec<&Pod> = pods.iter().filter(is_there).copied().collect();
        pods.sort_by_key(|pod| (pod.created, &pod.name));
        let before = excess.len();
        excess.extend(extra(query, &daemons, &pods).map(|pod| &*pod.name));
        if excess.len() > before {
            nodes.push(node.place.name.as_str());
        }
    }
    (nodes, excess)
}

/// `pods` must be sorted by age, the oldest first. Kubernetes: `podsShouldBeOnNode`,
/// pkg/controller/daemon/daemon_controller.go.
fn extra<'p>(
    query: &StatusQuery<'_>,
    daemons: &Daemons<'_>,
    pods: &[&'p Pod],
) -> impl Iterator<Item = &'p Pod> {
    let surges = Settings::of(&daemons.set.spec).budget(1).max_surge > 0;
    let mut keep = Vec::from_iter(pods.first());
    if surges {
        // Without their revisions, one may be old and one new.
        let (new, old): (Vec<&&Pod>, Vec<&&Pod>) =
            pods.iter().partition(|pod| daemons.is_updated(pod));
        keep = match (new.first(), old.first()) {
            _ if !daemons.knows_revision() => pods.iter().take(2).collect(),
            (Some(new), Some(old)) if is_through(query, daemons, new, old) => vec![*new],
            (new, old) => new.into_iter().chain(old).copied().collect(),
        };
    }
    let is_extra = |pod: &&&Pod| !keep.iter().any(|kept| kept.name == pod.name);
    let is_late = move |pod: &&Pod| query.audit.is_long_ago(pod.created);
    pods.iter().filter(is_extra).copied().filter(is_late).collect::<Vec<_>>().into_iter()
}

/// The old pod of a surge has not been needed for a long time.
fn is_through(query: &StatusQuery<'_>, daemons: &Daemons<'_>, new: &Pod, old: &Pod) -> bool {
    let min_ready: i64 = daemons.set.spec.min_ready_seconds.unwrap_or_default().into();
    let is_available = new.ready.0 && query.audit.is_long_ago(new.ready.1 + min_ready.max(0));
    let is_useless = !old.ready.0 && query.audit.is_long_ago(old.ready.1.max(new.created));
    is_available || is_useless
}
