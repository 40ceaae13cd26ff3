//! S19: an empty class is not the default class.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::{Operation, Subject},
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "claim-without-class",
        summary: "a claim template with an empty storageClassName, for which nothing makes volumes",
        why: "\
`storageClassName: \"\"` does not mean the default class, it means none: nothing provisions a volume,
and the claim waits until somebody makes a PersistentVolume that has no class either. Until then the
pod stays Pending. Left out, the field gets the default class of the cluster. Templates that say which
volumes they are meant for, by `volumeName` or a `selector`, are left alone, and so are those with the
older annotation for the class. Asked when a StatefulSet is created: the field cannot be changed
later.

Seen on a 1.36 control plane: \"no persistent volumes available for this claim and no storage class is
set\", the pod stays Pending.

Kubernetes: `DefaultStorageClass`, plugin/pkg/admission/storage/storageclass/setdefault/admission.go;
`syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.",
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
    if subject.operation != Operation::Create {
        return;
    }
    let path = Path::new("spec");
    let path = path.child("volumeClaimTemplates");
    for (i, (name, claim)) in read::claims(spec).enumerate() {
        let Some(wanted) = &claim.spec else { continue };
        let annotated = claim.metadata.annotations.iter().flatten();
        let annotated = annotated.into_iter().any(|(key, _)| key == OLD_ANNOTATION);
        let named = wanted.volume_name.as_deref().is_some_and(|name| !name.is_empty());
        let empty = wanted.storage_class_name.as_deref() == Some("");
        if empty && !named && !annotated && wanted.selector.is_none() {
            found.report(
                &path.index(i).child("spec").child("storageClassName"),
                Reason::Invalid,
                format!(
                    "with an empty class nothing makes a volume for the claim {name:?}, and the \
                     pods wait until somebody makes them by hand"
                ),
                "leave it out for the default class, or add a selector for volumes made by hand",
            );
        }
    }
}

/// Kubernetes: `GetPersistentVolumeClaimClass`, pkg/apis/core/helper/helpers.go.
const OLD_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

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
          volumeMounts:
            - {name: data, mountPath: /data}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}, storageClassName: \"\"}
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
