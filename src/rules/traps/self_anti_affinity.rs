//! S25: replicas that keep away from each other.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "self-anti-affinity",
        summary: "replicas that must not share a node or zone need as many of those as replicas",
        why: "\
A required podAntiAffinity term that matches the labels of the template itself allows one replica for
each value of its `topologyKey`. That is often meant: one member of a quorum a node. It also means
that with fewer nodes (or zones) than replicas the rest stays Pending, that the autoscaling of
replicas ends at the number of nodes, and that the pod of a drained node waits until another node is
free. For that it is counted and not shown.

Seen on a 1.36 control plane with 2 nodes: 3 replicas; two pods are placed, the third stays Pending
with \"2 node(s) didn't match pod anti-affinity rules\".

Kubernetes: `satisfyPodAntiAffinity`, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Audit,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    let replicas = spec.replicas.unwrap_or(1);
    // One for a key says it all.
    let Some((i, term)) = read::self_anti_affinity(&subject.object).next() else { return };
    if replicas < 2 {
        return;
    }
    let place = match term.topology_key.as_str() {
        "kubernetes.io/hostname" => "node",
        "topology.kubernetes.io/zone" => "zone",
        other => other,
    };
    let path = Path::new("spec");
    let path = path.child("template");
    let path = path.child("spec");
    let path = path.child("affinity");
    let path = path.child("podAntiAffinity");
    let path = path.child("requiredDuringSchedulingIgnoredDuringExecution");
    found.report(
        &path.index(i),
        Reason::Invalid,
        format!(
            "each of the {replicas} replicas needs a {place} of its own, and those that find none \
             stay Pending"
        ),
        "use topologySpreadConstraints or a preferred term if two may share one",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: quorum
spec:
  serviceName: quorum
  replicas: 3
  selector:
    matchLabels: {app: quorum}
  template:
    metadata:
      labels: {app: quorum}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: quorum}}
      containers:
        - name: quorum
          image: registry.example.com/quorum:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: quorum
spec:
  serviceName: quorum
  replicas: 3
  selector:
    matchLabels: {app: quorum}
  template:
    metadata:
      labels: {app: quorum}
    spec:
      topologySpreadConstraints:
        - topologyKey: kubernetes.io/hostname
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: quorum}}
      containers:
        - name: quorum
          image: registry.example.com/quorum:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";
