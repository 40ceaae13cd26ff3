//! S17: a claim that no container uses.

use std::collections::BTreeSet;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "claim-unmounted",
        summary: "a claim template that no container mounts",
        why: "\
Each pod gets a claim from each claim template, a volume is made for it and paid for, and the pod does
not start before it is there. If no container mounts it, the data that was to be kept is written to
the file system of the container and is gone with it: mostly the name in `volumeMounts` is another
one, or the mount was lost in an edit. The API reference says that a claim must have a matching
volumeMount; nothing enforces it.

Seen on a 1.36 control plane: accepted; the claim is made, and the pod waits for it.

Kubernetes: `volumeClaimTemplates` in staging/src/k8s.io/api/apps/v1/types.go.",
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
    let Some(pod) = read::pod_spec(&subject.object) else { return };
    let mut used = BTreeSet::new();
    for container in pod.init_containers.iter().flatten().chain(&pod.containers) {
        used.extend(container.volume_mounts.iter().flatten().map(|mount| mount.name.as_str()));
        used.extend(container.volume_devices.iter().flatten().map(|device| device.name.as_str()));
    }
    let path = Path::new("spec");
    let path = path.child("volumeClaimTemplates");
    for (i, (name, _)) in read::claims(spec).enumerate() {
        // A template without a name is refused by the API server.
        if !name.is_empty() && !used.contains(name) {
            found.report(
                &path.index(i).child("metadata").child("name"),
                Reason::NotFound,
                format!(
                    "each pod gets a claim {name:?} and waits for it, but no container mounts it"
                ),
                format!("add a volumeMount named {name:?}, or remove the claim template"),
            );
        }
    }
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  serviceName: store
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
        - name: store
          image: registry.example.com/store:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  serviceName: store
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
        - name: store
          image: registry.example.com/store:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
          volumeMounts:
            - {name: data, mountPath: /data}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
";
