//! S16: a volume that a claim template takes the place of.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "claim-hides-volume",
        summary: "a claim template with the name of a volume, which no pod will then have",
        why: "\
The controller adds a volume for each claim template to every pod, and drops a volume of the template
that has the same name. So the ConfigMap, Secret or emptyDir that is written down there is never
mounted: what mounts the name gets the claim instead. The API server leaves the hidden volume out as
well when it judges the template.

Seen on a 1.36 control plane: an emptyDir `data` beside a claim template `data`; the pod has one
volume `data`, the claim.

Kubernetes: `updateStorage`, pkg/controller/statefulset/stateful_set_utils.go;
`ValidateStatefulSetSpec`, pkg/apis/apps/validation/validation.go.",
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
    let path = Path::new("spec");
    let path = path.child("template");
    let path = path.child("spec");
    let path = path.child("volumes");
    for (i, volume) in pod.volumes.iter().flatten().enumerate() {
        if read::claims(spec).any(|(name, _)| name == volume.name) {
            found.report(
                &path.index(i).child("name"),
                Reason::Duplicate,
                format!(
                    "no pod has this volume: the claim template {:?} takes its place",
                    volume.name
                ),
                "give one of the two another name, or remove the volume",
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
      volumes:
        - name: data
          configMap: {name: seed}
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
      volumes:
        - name: seed
          configMap: {name: seed}
      containers:
        - name: store
          image: registry.example.com/store:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: seed, mountPath: /seed}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
";
