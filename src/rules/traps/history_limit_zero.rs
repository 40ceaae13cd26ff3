//! S30, D28: no old revision to go back to.

use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::{Subject, Workload},
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "history-limit-zero",
        summary: "revisionHistoryLimit 0, which leaves no revision to roll back to",
        why: "\
The controller keeps `revisionHistoryLimit` old templates, 10 by default, as ControllerRevisions. They are
what `kubectl rollout undo` goes back to. With 0 none is kept that no pod uses any more: when a bad template
has reached all pods, there is nothing to undo it with.

Kubernetes: `cleanupHistory`, pkg/controller/daemon/update.go; `truncateHistory`,
pkg/controller/statefulset/stateful_set_control.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Audit,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let limit = match &subject.object.workload {
        Workload::DaemonSet(spec) => spec.revision_history_limit,
        Workload::StatefulSet(spec) => spec.revision_history_limit,
    };
    if limit == Some(0) {
        let path = Path::new("spec");
        found.report(
            &path.child("revisionHistoryLimit"),
            Reason::Invalid,
            "no old revision is kept, so `kubectl rollout undo` has nothing to go back to",
            "use 1 or more, or leave the field out for 10",
        );
    }
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  revisionHistoryLimit: 0
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  revisionHistoryLimit: 3
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";
