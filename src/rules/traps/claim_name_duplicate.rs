//! S15: two claim templates of one name.

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
        id: "claim-name-duplicate",
        summary: "two volumeClaimTemplates of one name, of which only the last counts",
        why: "\
The controller keeps the claims of a pod in a map by the name of their template. Of two templates
with the same name the later one replaces the earlier, whose size, class and labels are never used:
each pod gets one volume less than the manifest shows. The API server puts the templates into a map
as well and sees no duplicate. The field cannot be changed later.

Seen on a 1.36 control plane: two templates `data` with different labels; the pod has one volume and
one claim, `data-dup-0`, which has the label of the second.

Kubernetes: `volumesToAddForTemplates`, pkg/apis/apps/validation/validation.go;
`getPersistentVolumeClaims`, pkg/controller/statefulset/stateful_set_utils.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Deny,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    let path = Path::new("spec");
    let path = path.child("volumeClaimTemplates");
    let mut names = BTreeSet::new();
    for (i, (name, _)) in read::claims(spec).enumerate() {
        if !names.insert(name) {
            found.report(
                &path.index(i).child("metadata").child("name"),
                Reason::Duplicate,
                format!(
                    "more than one claim template is named {name:?}, and each pod gets one claim \
                     for all of them, made from the last"
                ),
                "give each claim template a name of its own",
            );
        }
    }
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: broker
spec:
  serviceName: broker
  selector:
    matchLabels: {app: broker}
  template:
    metadata:
      labels: {app: broker}
    spec:
      containers:
        - name: broker
          image: registry.example.com/broker:3.7.1
          readinessProbe: {tcpSocket: {port: 9092}}
          volumeMounts:
            - {name: data, mountPath: /var/lib/broker}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 500Gi}}}
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: broker
spec:
  serviceName: broker
  selector:
    matchLabels: {app: broker}
  template:
    metadata:
      labels: {app: broker}
    spec:
      containers:
        - name: broker
          image: registry.example.com/broker:3.7.1
          readinessProbe: {tcpSocket: {port: 9092}}
          volumeMounts:
            - {name: data, mountPath: /var/lib/broker}
            - {name: logs, mountPath: /var/log/broker}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 500Gi}}}
    - metadata: {name: logs}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}
";
