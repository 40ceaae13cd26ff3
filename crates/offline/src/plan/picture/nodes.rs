use setguard_core::rollout::node::WhyNot;

use crate::plan::prelude::*;
use crate::plan::{forecast::NodeOutlook, pod_counts::replaced, styled_line::list};

/// Returns lines for the nodes that gain, lose or keep a pod.
pub(super) fn lines(
    rollout: &Rollout,
    nodes: &[NodeOutlook],
    forecast: &Forecast,
    symbols: Symbols,
) -> Vec<Line> {
    let mut gets = Vec::new();
    let mut without: BTreeMap<(bool, &WhyNot), Vec<String>> = BTreeMap::new();
    let stay: BTreeSet<_> = rollout.kept.iter().map(|it| forecast.name(&it.target)).collect();
    let keeps = |node: &NodeOutlook| node.had_pod && stay.contains(&node.name);
    for node in nodes {
        match &node.placement {
            Placement::Runs if !node.had_pod => gets.push(node.name.clone()),
            Placement::Runs => {}
            _ if keeps(node) => {}
            Placement::Keeps(why) | Placement::Loses(why) => {
                without.entry((node.had_pod, why)).or_default().push(node.name.clone());
            }
        }
    }
    let mut lines = Vec::new();
    if !gets.is_empty() {
        let (count, names) = (count(gets.len(), "node"), list(&gets, symbols));
        lines.push(Line::moves(symbols, Tone::New, &format!("a new pod on {count}: {names}")));
    }
    let replaced = replaced(&rollout.course);
    if replaced > 0 {
        let waves = match rollout.course.waves {
            1 => "at once".to_owned(),
            waves => format!("in {waves} waves, in an order that the controller chooses"),
        };
        let text = format!("the pods on {} are replaced, {waves}", count(replaced, "node"));
        lines.push(Line::moves(symbols, Tone::Moves, &text));
    }
    let second = second_pods(rollout, nodes);
    if !second.is_empty() {
        let (count, names) = (count(second.len(), "node"), list(&second, symbols));
        let text = format!("the second pod on {count} is deleted: {names}");
        lines.push(Line::moves(symbols, Tone::Bad, &text));
    }
    for ((had, why), names) in &without {
        let what = match (*had, names.len()) {
            (false, _) => "no pod",
            (true, 1) => "loses its pod",
            (true, _) => "lose their pods",
        };
        let (count, names) = (count(names.len(), "node"), list(names, symbols));
        let text = format!("{what}: {count}, {}: {names}", because(why));
        lines.push(match had {
            true => Line::moves(symbols, Tone::Bad, &text),
            false => Line::stays(symbols, &text),
        });
    }
    lines.extend(kept(rollout, forecast, symbols));
    lines
}

/// Returns the lines for unchanged pods.
fn kept(rollout: &Rollout, forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = Vec::new();
    for revision in [Revision::Old, Revision::New] {
        let kept = rollout.kept.iter().filter(|it| it.revision == revision);
        let (some, known): (Vec<_>, Vec<_>) = kept
            .map(|it| &it.target)
            .partition(|target| matches!(target, Target::SomeNodes { .. }));
        let names: Vec<_> = known.into_iter().map(|target| forecast.name(target)).collect();
        let what = |count: &str| match &rollout.why_kept {
            Some(why) if revision == Revision::Old => {
                format!("keeps the old template on {count}, {why}")
            }
            _ => format!("is left alone on {count}"),
        };
        if !names.is_empty() {
            let (what, names) = (what(&count(names.len(), "node")), list(&names, symbols));
            lines.push(Line::stays(symbols, &format!("the pod {what}: {names}")));
        }
        for target in some {
            let what = what(&forecast.name(target));
            lines.push(Line::stays(symbols, &format!("the pod {what}")));
        }
    }
    lines
}

/// Returns the nodes where one of several pods is deleted and not replaced.
fn second_pods(rollout: &Rollout, nodes: &[NodeOutlook]) -> Vec<String> {
    let mut balance: BTreeMap<usize, isize> = BTreeMap::new();
    for step in &rollout.course.steps {
        if let Target::Node(index) = step.target {
            let change = if step.action == Action::Delete { 1 } else { -1 };
            *balance.entry(index).or_default() += change;
        }
    }
    let second = balance.into_iter().filter(|(_, balance)| *balance > 0);
    let nodes = second.filter_map(|(index, _)| nodes.get(index));
    nodes.filter(|it| it.placement == Placement::Runs).map(|it| it.name.clone()).collect()
}

fn because(why: &WhyNot) -> String {
    match why {
        WhyNot::NodeName(name) => format!("because nodeName is {name}"),
        WhyNot::NodeSelector(key, value) => format!("without the label {key}={value}"),
        WhyNot::Affinity => "which the node affinity leaves out".to_owned(),
        WhyNot::Taint(taint) => format!("because of the taint {taint}"),
        WhyNot::Gone => "because there is no such node".to_owned(),
    }
}
