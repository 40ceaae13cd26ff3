//! S28, D22: gates that every pod waits behind.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "template-scheduling-gates",
        summary: "a template with schedulingGates, behind which every pod waits",
        why: "\
The scheduler does not look at a pod that has scheduling gates. Each pod that is made from the template
waits until somebody removes its gates, one pod at a time, also a pod that replaces a broken one. A gate is
meant to be put on a pod when it is created, by the webhook whose controller removes it.

Seen on a 1.36 control plane: the pods of a DaemonSet and of a StatefulSet with `schedulingGates` in the
template stay Pending with the reason SchedulingGated; the DaemonSet says desired 2, ready 0.

Kubernetes: `SchedulingGates.PreEnqueue`,
pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let gates = spec.and_then(|spec| spec.scheduling_gates.as_deref()).unwrap_or_default();
    if gates.is_empty() {
        return;
    }
    let names: Vec<_> = gates.iter().map(|gate| gate.name.as_str()).collect();
    read::at_pod_spec(|path| {
        found.report(
            &path.child("schedulingGates"),
            Reason::Forbidden,
            format!(
                "no pod is scheduled until somebody removes {} from it, from each pod anew",
                names.join(", ")
            ),
            "leave the gates out of the template, and let a webhook put them on pods",
        );
    });
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      schedulingGates:
        - {name: example.com/wait}
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";
