//! Sets with too few ready pods, for a reason that no other rule has found.

use super::{
    read::since,
    rule::{Asked, Check, Found, Report, Rule},
};
use crate::finding::{Help, Meta, Mode, Path};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "fewer-ready-than-wanted",
        summary: "a set with fewer ready pods than it should have, for no reason that is known",
        why: "\
The other rules about status each look for one cause. If none of them finds anything in a set whose status has
said for five minutes that fewer pods are ready than there should be, that is reported too, so that no such
set is taken for healthy.

The status has no time. Who has written it last, and when, is in `metadata.managedFields`, and an equal status
is not written again. So if the count changes all the time, nothing is reported. Nor is it if a pod of the set
is on a node that is not ready: `node-down` reports the node.

Kubernetes: `storeDaemonSetStatus`, pkg/controller/daemon/daemon_controller.go; `updateStatefulSetStatus`,
pkg/controller/statefulset/stateful_set_control.go.",
        bad: include_str!("examples/fewer-ready-than-wanted.bad.yaml"),
        good: include_str!("examples/fewer-ready-than-wanted.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    kinds: &["DaemonSet", "StatefulSet"],
    check: Check::IfSilent(check),
};

fn check(asked: &Asked<'_>, found: &mut Found) {
    let (ready, wanted) = asked.set.ready_of();
    let written = asked.set.status_written.filter(|it| asked.audit.is_long_ago(*it));
    let Some(written) = written.filter(|_| ready < wanted && !is_on_a_node_that_is_down(asked))
    else {
        return;
    };
    let message = format!(
        "{ready} of {wanted} pods are ready {}, and nothing that is known says why",
        since(written)
    );
    let describe = asked.kubectl().looks("describe", &[&asked.target()]);
    let help = Help::say("").run(describe).and(" shows its pods and events");
    let status = Path::new("status");
    found.add(Report::new(&status, message, help));
}

fn is_on_a_node_that_is_down(asked: &Asked<'_>) -> bool {
    let observed = asked.audit.observed;
    let mut nodes = observed.pods(asked.set).iter().filter_map(|pod| pod.node.as_deref());
    nodes.any(|name| observed.node(name).is_some_and(|node| node.not_ready.is_some()))
}
