//! S3: a partition from the rollout before.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "partition-left-set",
        summary: "a new template while the partition still holds back the last one",
        why: "\
A partition is for a rollout in steps: set, watched, lowered. One that stays set holds back this
template and every later one from the same pods. They fall behind by one more revision with each
update, the StatefulSet never counts as updated, `status.currentRevision` stays at the oldest, and a
pod below the partition that is deleted comes back with that one.

Seen on a 1.36 control plane: 4 replicas, `partition: 2`, a new image; the pods 0 and 1 keep the old
one, and come back with it when they are deleted.

Kubernetes: `completeRollingUpdate`, `newVersionedStatefulSetPod`,
pkg/controller/statefulset/stateful_set_utils.go.",
        bad: include_str!("partition_left_set.bad.yaml"),
        good: include_str!("partition_left_set.good.yaml"),
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
    let Some(partition) = read::held_back_again(subject) else { return };
    let ordinals = read::ordinals(spec);
    let below = ordinals.start..ordinals.start + i64::from(partition);
    let path = Path::new("spec");
    let path = path.child("updateStrategy");
    let path = path.child("rollingUpdate");
    found.report(
        &path.child("partition"),
        Reason::Invalid,
        format!(
            "partition {partition} still holds back the last template from {}, and now this one",
            read::pod_names(subject.object.name(), &below)
        ),
        "use partition 0 to end the rollout",
    );
}
