//! Obstacles that keep the rollout of a DaemonSet from its end.

use std::collections::BTreeMap;

use setguard_core::{
    kubernetes::kind::Kind,
    observed::{DaemonSet, Observed, Pod, WorkloadStatus},
    rollout::{
        daemon_set::Settings,
        node::{Placement, WhyNot, placements},
    },
};

use super::{
    obstacle::{Hold, Obstacle, View},
    pods,
};

/// The most reasons that are named.
const MOST: usize = 3;

/// Returns the obstacles of the pods of a DaemonSet that keep it from its end.
pub(crate) fn obstacles(
    view: &View<'_>,
    set: &WorkloadStatus,
    daemons: &DaemonSet,
) -> Vec<Obstacle> {
    let observed = view.observed;
    let strategy = daemons.spec.update_strategy.as_ref().and_then(|it| it.type_.as_deref());
    let is_on_delete = strategy == Some("OnDelete");
    let wanted = observed.knows(Kind::Node, "").then(|| wanted(view, daemons));
    let is_wanted = |node: &str| wanted.as_ref().is_none_or(|it| it.contains(&node));
    let (mut obstacles, mut down) = (Vec::new(), Vec::new());
    for pod in observed.pods(set).iter().filter(|pod| !pod.ready.0 || pod.deleted.is_some()) {
        let node = pod.node.as_deref().unwrap_or_default();
        let is_down = observed.node(node).is_some_and(|it| it.not_ready.is_some());
        // An old pod that is not ready is the first to be replaced.
        let is_updated = is_updated(observed, set, daemons, pod);
        let is_in_the_way = is_updated || is_on_delete || pod.deleted.is_some() || is_down;
        if is_wanted(node) && is_in_the_way {
            obstacles.push(pods::obstacle(view, set, pod));
        } else if is_down {
            down.push(pods::obstacle(view, set, pod));
        }
    }
    if is_budget_eaten(daemons, down.len()) {
        obstacles.append(&mut down);
    }
    obstacles
}

/// Returns whether a pod has the current template.
pub(crate) fn is_updated(
    observed: &Observed,
    set: &WorkloadStatus,
    daemons: &DaemonSet,
    pod: &Pod,
) -> bool {
    let newest = observed.revisions(set).filter(|it| it.number.is_some());
    let newest = newest.max_by_key(|it| it.number).map(|it| it.on_pods());
    newest.is_some_and(|hash| pod.is_of(hash))
        || daemons.generation.as_deref().is_some_and(|it| pod.is_of_generation(it))
}

/// Returns whether pods on nodes that are down, and that should have none, use up the pods that may
/// be unavailable: the controller counts them, and the status does not.
///
/// Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go.
fn is_budget_eaten(daemons: &DaemonSet, down: usize) -> bool {
    let desired = usize::try_from(daemons.status.desired_number_scheduled).unwrap_or_default();
    let settings = Settings::of(&daemons.spec);
    let budget = settings.budget(desired);
    down > 0 && !settings.is_on_delete() && budget.max_surge == 0 && down >= budget.max_unavailable
}

/// Returns the nodes that get a pod.
fn wanted<'a>(view: &View<'a>, daemons: &DaemonSet) -> Vec<&'a str> {
    let placing = &daemons.spec.template.placing;
    let placements = placements(placing, view.observed.nodes().map(|it| &it.place));
    let nodes = view.observed.nodes().zip(placements);
    nodes
        .filter(|(_, placement)| *placement == Placement::Runs)
        .map(|(node, _)| node.place.name.as_str())
        .collect()
}

/// Returns the obstacle that no node gets a pod, with the reasons.
pub(crate) fn no_node(view: &View<'_>, daemons: &DaemonSet) -> Obstacle {
    let observed = view.observed;
    let text = "no node gets a pod of it, so nothing runs";
    if !observed.knows(Kind::Node, "") {
        return Obstacle::new("no node", Hold::Fact, text);
    }
    let placing = &daemons.spec.template.placing;
    let mut reasons = BTreeMap::<String, usize>::new();
    let mut nodes = 0;
    for placement in placements(placing, observed.nodes().map(|it| &it.place)) {
        nodes += 1;
        let why = match placement {
            Placement::Runs => "get one since a moment ago".to_owned(),
            Placement::Keeps(why) | Placement::Loses(why) => match why {
                WhyNot::NodeName(name) => {
                    format!("are not the node {name} that the template names")
                }
                WhyNot::NodeSelector(key, value) => format!("lack the label {key}={value}"),
                WhyNot::Affinity => "do not match the node affinity".to_owned(),
                WhyNot::Taint(taint) => format!("have the taint {taint}"),
                WhyNot::Gone => "do not exist any more".to_owned(),
            },
        };
        *reasons.entry(why).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said = reasons.iter().take(MOST).map(|(why, count)| format!("{count} {why}"));
    let said = said.collect::<Vec<_>>().join(", ");
    let text = match nodes {
        0 => format!("{text}: there is no node"),
        _ => format!("{text}: of {nodes} nodes, {said}"),
    };
    Obstacle::new("no node", Hold::Fact, text)
}
