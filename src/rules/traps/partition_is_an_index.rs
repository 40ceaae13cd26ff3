//! S2: a partition that reads as an ordinal.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "partition-is-an-index",
        summary: "a partition above ordinals.start that counts pods, not their numbers",
        why: "\
`partition` is the index of a pod, counted from 0, not the number in its name. Without
`ordinals.start` the two are the same. With `start: 5` and `partition: 6` a reader expects web-6 and
the pods after it to be updated; it is web-11 and the pods after it, and web-5 to web-10 keep the old
template.

Seen on a 1.36 control plane: `start: 5`, 4 replicas, `partition: 2`, a new image; the pods numbered 7
and 8 get it, 5 and 6 keep the old one.

Kubernetes: the loop down to `updateMin` in `updateStatefulSet`,
pkg/controller/statefulset/stateful_set_control.go; `newVersionedStatefulSetPod`,
stateful_set_utils.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    let Some(partition) = read::partition(spec).map(i64::from) else { return };
    let ordinals = read::ordinals(spec);
    let start = ordinals.start;
    // Where it covers all pods, partition-covers-all says so.
    if start < 1 || partition < start || start + partition >= ordinals.end {
        return;
    }
    let name = subject.object.name();
    let held = read::pod_names(name, &(start..start + partition));
    let updated = read::pod_names(name, &(start + partition..ordinals.end));
    let path = Path::new("spec");
    let path = path.child("updateStrategy");
    let path = path.child("rollingUpdate");
    found.report(
        &path.child("partition"),
        Reason::Invalid,
        format!(
            "partition {partition} counts pods from 0, whatever ordinals.start says: it holds back \
             {held} and updates {updated}"
        ),
        format!("use {} if {name}-{partition} and those after it are meant", partition - start),
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: queue
spec:
  serviceName: queue
  replicas: 10
  ordinals: {start: 5}
  updateStrategy:
    rollingUpdate: {partition: 6}
  selector:
    matchLabels: {app: queue}
  template:
    metadata:
      labels: {app: queue}
    spec:
      containers:
        - name: queue
          image: registry.example.com/queue:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: queue
spec:
  serviceName: queue
  replicas: 10
  ordinals: {start: 5}
  updateStrategy:
    rollingUpdate: {partition: 1}
  selector:
    matchLabels: {app: queue}
  template:
    metadata:
      labels: {app: queue}
    spec:
      containers:
        - name: queue
          image: registry.example.com/queue:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";
