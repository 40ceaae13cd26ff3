use super::status::toleration;
use crate::kubernetes::taints;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "node-not-wanted", group: Cluster;
    title: "a taint keeps the daemon off nodes",
    summary: "nodes without a pod of the DaemonSet, because of a taint",
    scopes: [Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Aside(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(daemons) = Daemons::of(query) else { return };
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, placement, pods) in &daemons.nodes {
        if let Placement::Keeps(WhyNot::Taint(taint)) | Placement::Loses(WhyNot::Taint(taint)) =
            placement
            && pods.is_empty()
            && !taints::is_transient(taint)
            && query.audit.is_long_ago(node.created)
        {
            groups.entry(taint).or_default().push(&node.place.name);
        }
    }
    let Some((first, _)) = groups.iter().max_by_key(|(_, nodes)| nodes.len()) else { return };
    let list = groups.iter().map(|(taint, nodes)| {
        format!("{taint} on {} ({})", count(nodes.len(), "node"), names(nodes.iter().copied()))
    });
    let desired = daemons.set.status.desired_number_scheduled;
    let who = if desired == 0 { "no node gets a pod" } else { "some nodes get no pod" };
    let list = list.collect::<Vec<_>>().join("; ");
    let facts = Facts::title(who)
        .cause(format!("the template does not tolerate all taints: {list}"))
        .nodes(groups.values().flatten().copied())
        .outlook(Outlook::new("no node", Hold::Lasting));
    let tolerate = toleration::add(query, daemons.set, first);
    let help = Help::say("if these nodes are to have a pod, run ").run(tolerate);
    let report = StatusFinding::new(&TOLERATIONS, facts, help);
    found.add(if desired == 0 { report } else { report.note() });
}
