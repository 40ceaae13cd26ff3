//! Nodes with two pods of a DaemonSet.

use super::{
    daemons::Daemons,
    read::{count, names, words},
    rule::{Asked, Check, Found, Report, Rule},
};
use crate::{
    finding::{Meta, Mode, Path},
    observed::Pod,
    rollout::daemon_set::Settings,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "two-pods-on-node",
        summary: "nodes with two pods of the DaemonSet, or more",
        why: "\
A DaemonSet has one pod on each node, or for a moment two, if its update strategy has `maxSurge`. The
controller deletes the younger ones of several. If two have been there for five minutes, it does not get
through: it does not run, or its deletions are refused. Two daemons on one node often fight for a port, a
socket or a lock. The status counts nodes, so it shows nothing.

Looked at are DaemonSets that are not healthy by their status, and pods that are not being deleted.

Kubernetes: `podsShouldBeOnNode`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/two-pods-on-node.bad.yaml"),
        good: include_str!("examples/two-pods-on-node.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["DaemonSet"],
    check: Check::Set(check),
};

fn check(asked: &Asked<'_>, found: &mut Found) {
    let Some(daemons) = Daemons::of(asked).filter(|_| !asked.set.is_healthy()) else { return };
    let surges = Settings::of(&daemons.set.spec).budget(1).max_surge > 0;
    let most = if surges { 2 } else { 1 };
    let (mut nodes, mut excess): (Vec<&str>, Vec<&str>) = Default::default();
    for (node, _, pods) in &daemons.nodes {
        let is_there = |pod: &&&Pod| pod.deleted.is_none() && !pod.has_ended;
        let mut pods: Vec<&&Pod> = pods.iter().filter(is_there).collect();
        pods.sort_by_key(|pod| (pod.created, &pod.name));
        let mut younger = pods.iter().skip(most).peekable();
        if younger.peek().is_some_and(|pod| asked.audit.is_long_ago(pod.created)) {
            nodes.push(&node.place.name);
            excess.extend(younger.map(|pod| &*pod.name));
        }
    }
    if nodes.is_empty() {
        return;
    }
    let message = format!(
        "{} with more than {most} of its pods ({}): {} should not be there",
        count(nodes.len(), "node"),
        names(nodes.iter().copied()),
        names(excess.iter().copied()),
    );
    let (first, more) = words(&excess);
    let delete = asked.kubectl().run("delete pod", first);
    let help = format!(
        "run {delete}{more}; if they come back, see why the controller does not delete them"
    );
    let status = Path::new("status");
    found.add(Report::new(&status.child("currentNumberScheduled"), message, help));
}
