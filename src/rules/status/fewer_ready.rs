//! Sets with too few ready pods, for a reason that no other rule has found.

use super::read::since;
use crate::{
    finding::{Help, Meta, Mode, Path},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Report, StatusFindings, StatusQuery},
    },
};

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
    scope: Scope::Status { kinds: &[Kind::DaemonSet, Kind::StatefulSet], check: StatusCheck::IfSilent(check) },
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let (ready, wanted) = query.set.ready_of();
    let written = query.set.status_written.filter(|it| query.audit.is_long_ago(*it));
    let Some(written) = written.filter(|_| ready < wanted && !is_on_a_node_that_is_down(query))
    else {
        return;
    };
    let message = format!(
        "{ready} of {wanted} pods are ready {}, and nothing that is known says why",
        since(written)
    );
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = Help::say("").run(describe).and(" shows its pods and events");
    let status = Path::new("status");
    found.add(Report::new(&status, message, help));
}

fn is_on_a_node_that_is_down(query: &StatusQuery<'_>) -> bool {
    let observed = query.audit.observed;
    let mut nodes = observed.pods(query.set).iter().filter_map(|pod| pod.node.as_deref());
    nodes.any(|name| observed.node(name).is_some_and(|node| node.not_ready.is_some()))
}
