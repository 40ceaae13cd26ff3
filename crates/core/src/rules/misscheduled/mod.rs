use super::status::toleration;
use crate::kubernetes::taints;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "misscheduled", group: Cluster;
    title: "pods run on nodes that are not selected",
    summary: "pods of a DaemonSet on nodes that the DaemonSet no longer selects",
    scopes: [Scope::Status { kinds: &[Kind::DaemonSet], check: StatusCheck::Aside(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(daemons) = Daemons::with_pods(query) else { return };
    // (pod, node) by taint.
    let mut kept: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let mut lost = Vec::new();
    for (node, placement, pods) in &daemons.nodes {
        let is_down = node.not_ready.is_some();
        let named = pods.iter().map(|pod| (*pod, &*pod.name, node.place.name.as_str()));
        for (pod, name, node) in named {
            match placement {
                // The node is at fault if it is down.
                Placement::Keeps(WhyNot::Taint(taint)) if pod.deleted.is_none() && !is_down => {
                    kept.entry(taint).or_default().push((name, node));
                }
                Placement::Loses(_)
                    if pod.deleted.is_some_and(|it| query.audit.is_long_ago(it)) =>
                {
                    lost.push((name, node));
                }
                _ => {}
            }
        }
    }
    for (taint, pods) in &kept {
        found.add(stays(query, &daemons, taint, pods));
    }
    if let Some((pod, node)) = lost.first() {
        let list = names(lost.iter().map(|it| it.0));
        let facts = Facts::title(format!("{list} on {node} should be gone"))
            .cause("the template excludes the node")
            .pods(lost.iter().map(|it| it.0))
            .nodes(lost.iter().map(|it| it.1));
        let words = [pod, "--force", "--grace-period=0"];
        let force = query.kubectl().does(Effect::Restarts(1), "delete pod", &words);
        let help = Help::say("repair the node or remove it; if it is powered off, run ").run(force);
        found.add(StatusFinding::new(&NUMBER, facts, help));
    }
}

fn stays(
    query: &StatusQuery<'_>,
    daemons: &Daemons<'_>,
    taint: &str,
    pods: &[(&str, &str)],
) -> StatusFinding {
    let title = format!(
        "{} ({}) {}",
        count(pods.len(), "pod"),
        names(pods.iter().map(|it| it.0)),
        if pods.len() == 1 { "stays only until it ends" } else { "stay only until they end" }
    );
    let nodes = names(pods.iter().map(|it| it.1));
    let cause = format!("the template does not tolerate the taint {taint} of {nodes}");
    let facts = Facts::title(title)
        .cause(cause)
        .pods(pods.iter().map(|it| it.0))
        .nodes(pods.iter().map(|it| it.1));
    if taints::is_transient(taint) {
        let node = pods.first().map_or("", |it| it.1);
        let describe = query.audit.kubectl_anywhere().looks("describe node", &[node]);
        let help =
            Help::say("the taint goes when the state of the node changes, so do not tolerate it; ");
        let help = help.run(describe).and(" shows that state");
        return StatusFinding::new(&TOLERATIONS, facts, help).note();
    }
    let tolerate = toleration::add(query, daemons.set, taint);
    let help = Help::say("to update and replace them too, run ")
        .run(tolerate)
        .and("; to remove them, delete them: they do not come back");
    StatusFinding::new(&TOLERATIONS, facts, help)
}

static NUMBER: Path<'static> = STATUS.child("numberMisscheduled");
