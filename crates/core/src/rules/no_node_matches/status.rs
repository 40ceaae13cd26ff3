//! A DaemonSet that no node of a cluster gets a pod of.

use crate::rules::prelude::*;
use crate::{kubernetes::taints, rollout::node::placements};

pub(super) const SCOPE: Scope =
    Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Workload(check) };

/// The most reasons to list.
const MOST: usize = 3;

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let WorkloadState::DaemonSet(set) = &query.set.state else { return };
    let observed = query.audit.observed;
    if set.status.desired_number_scheduled > 0 || !observed.knows(Kind::Node, "") {
        return;
    }
    let placing = &set.spec.template.placing;
    let mut reasons = BTreeMap::<String, usize>::new();
    for placement in placements(placing, observed.nodes().map(|it| &it.place)) {
        let why = match placement {
            // The controller is about to create it.
            Placement::Runs => return,
            Placement::Keeps(why) | Placement::Loses(why) => match why {
                WhyNot::NodeName(name) => format!("not the node {name} of the template"),
                WhyNot::NodeSelector(key, value) => format!("without the label {key}={value}"),
                WhyNot::Affinity => "outside the node affinity".to_owned(),
                // A different rule reports the effect of a toleration.
                WhyNot::Taint(taint) if !taints::is_transient(&taint) => return,
                WhyNot::Taint(taint) => format!("with the taint {taint}"),
                WhyNot::Gone => continue,
            },
        };
        *reasons.entry(why).or_default() += 1;
    }
    let all = reasons.values().sum();
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said = reasons.iter().take(MOST).map(|(why, count)| format!("{count} {why}"));
    let said = said.collect::<Vec<_>>().join(", ");
    if said.is_empty() {
        return;
    }
    let facts = Facts::title("no node gets a pod")
        .cause(format!("of {}, {said}", count(all, "node")))
        .effect("its rollout counts as complete".to_owned())
        .outlook(Outlook::new("no node", Hold::Lasting));
    let labels = query.audit.kubectl_anywhere().looks("get nodes", &["--show-labels"]);
    let help = Help::say("correct what excludes them, unless nodes that match are added later; ");
    let help = match query.label() {
        Some(label) => help.and("if the node is meant for it, run ").run(label).and("; "),
        None => help,
    };
    let help = help.run(labels).and(" shows their labels");
    found.add(StatusFinding::new(&POD_SPEC, facts, help).instead_of(Some("no-node-matches")));
}
