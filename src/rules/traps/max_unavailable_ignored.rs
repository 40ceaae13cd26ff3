//! S5: a field of a feature that is off.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "max-unavailable-ignored",
        summary: "maxUnavailable of a StatefulSet where its feature gate is off",
        why: "\
`updateStrategy.rollingUpdate.maxUnavailable` of a StatefulSet belongs to the feature gate
MaxUnavailableStatefulSet. While the gate is off the API server drops the field without a word, except
where the stored object has it already, and the controller updates one pod at a time in any case. The
gate has been there since 1.24; it was on by default in 1.35.0 to 1.35.3 only. Values that come to one
pod are not found: they change nothing.

Seen on a 1.36 control plane: `maxUnavailable: 2` is accepted, the stored object does not have it, and
the user is told nothing. Only a mutating webhook gets to see the field.

Kubernetes: `dropStatefulSetDisabledFields`, pkg/registry/apps/statefulset/strategy.go;
`updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::Before,
    check,
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    let at_once = read::max_unavailable(spec).unwrap_or(1);
    if at_once < 2 || cluster.enabled(read::MAX_UNAVAILABLE_GATE) {
        return;
    }
    let path = Path::new("spec");
    let path = path.child("updateStrategy");
    let path = path.child("rollingUpdate");
    found.report(
        &path.child("maxUnavailable"),
        Reason::Forbidden,
        format!(
            "it has no effect while the feature gate {} is off, as it is in Kubernetes {}: pods \
             are updated one at a time, not {at_once}",
            read::MAX_UNAVAILABLE_GATE,
            cluster.version,
        ),
        "leave it out, or turn the gate on in kube-apiserver and kube-controller-manager",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: cache
spec:
  serviceName: cache
  replicas: 6
  podManagementPolicy: Parallel
  updateStrategy:
    rollingUpdate: {maxUnavailable: 3}
  selector:
    matchLabels: {app: cache}
  template:
    metadata:
      labels: {app: cache}
    spec:
      containers:
        - name: cache
          image: registry.example.com/cache:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: cache
spec:
  serviceName: cache
  replicas: 6
  podManagementPolicy: Parallel
  selector:
    matchLabels: {app: cache}
  template:
    metadata:
      labels: {app: cache}
    spec:
      containers:
        - name: cache
          image: registry.example.com/cache:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";
