//! Which pods a partition lets a rollout reach.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "canary-ordinals",
        summary: "which pods an update reaches and which it does not, under a partition",
        why: "\
With a partition an update reaches only the pods from that index on. This says which pods those are
when the template changes under a partition, and when a partition is moved while a rollout is not
complete: lowered, it lets more pods follow; raised, it takes nothing back, but a pod that is now
below it and is deleted comes back with the old template. Nothing is wrong with it, so it is counted
and not shown; `setguard check --against` prints it as a note.

Seen on a 1.36 control plane: 4 replicas, `partition: 2`, a new image: the pods 2 and 3 get it. The
partition raised to 3: pod 2 keeps the new image until it is deleted, and comes back with the old one.
Lowered to 1: the pods 1 and 2 get the new one.

Kubernetes: `updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go;
`newVersionedStatefulSetPod`, stateful_set_utils.go.",
        bad: include_str!("examples/canary-ordinals.bad.yaml"),
        good: include_str!("examples/canary-ordinals.good.yaml"),
        mode: Mode::Audit,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::HoldsInOrder,
    check: Check::StatefulSet(check),
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old() else { return };
    let Some(before) = read::stateful_set(old).and_then(read::partition) else { return };
    let Some(partition) = read::partition(spec) else { return };
    let ordinals = read::ordinals(spec);
    let replicas = ordinals.end - ordinals.start;
    // Where nothing is updated partition-covers-all speaks, and partition-left-set has its own case.
    if partition < 0 || i64::from(partition) >= replicas || read::held_back_again(subject).is_some()
    {
        return;
    }
    let pods = |from: i32, to: i64| {
        let to = ordinals.start + to.min(replicas);
        read::pod_names(subject.object.name(), &(ordinals.start + i64::from(from)..to))
    };
    let status = read::stateful_set_status(old);
    let held_back = status.is_none_or(|s| s.current_revision != s.update_revision);
    let (message, help) = if read::template_changes(subject) && partition > 0 {
        let (reached, kept) = (pods(partition, replicas), pods(0, partition.into()));
        let message = format!("the new template reaches {reached}; {kept} keep the old one");
        (message, "use a lower partition to go on".to_owned())
    } else if partition < before && (held_back || read::template_changes(subject)) {
        let reached =
            pods(partition, if read::template_changes(subject) { replicas } else { before.into() });
        let message =
            format!("partition {partition} instead of {before} lets the rollout reach {reached}");
        (message, format!("use {before} to stop there"))
    } else if partition > before && held_back {
        let kept = pods(before, partition.into());
        let message = format!(
            "partition {partition} instead of {before} takes nothing back: {kept} keep what they \
             run, and come back with the old template if they are deleted"
        );
        (message, "use the old template to take it back".to_owned())
    } else {
        return;
    };
    let strategy = SPEC.child("updateStrategy");
    let rolling = strategy.child("rollingUpdate");
    let written = rolling.child("partition");
    // 0 is the default: it may not be written down.
    let field = if partition > 0 { &written } else { &SPEC };
    found.report(field, Reason::Invalid, message, help);
}
