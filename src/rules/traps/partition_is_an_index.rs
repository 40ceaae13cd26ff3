//! A partition that looks like an ordinal.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "partition-is-an-index",
        summary: "a partition that looks like an ordinal, but counts pods from 0",
        why: "\
`partition` is the index of a pod, counted from 0, not the number in its name. Without
`ordinals.start` the two are the same. With `start: 5` and `partition: 6` a reader expects web-6 and
the pods after it to be updated. In fact web-11 and the pods after it are updated, and web-5 to web-10
keep the old template.

Seen on a 1.36 control plane: `start: 5`, 4 replicas, `partition: 2`, a new image; pods 7 and 8 get
it, pods 5 and 6 keep the old one.

Kubernetes: the loop down to `updateMin` in `updateStatefulSet`,
pkg/controller/statefulset/stateful_set_control.go; `newVersionedStatefulSetPod`,
stateful_set_utils.go.",
        bad: include_str!("examples/partition-is-an-index.bad.yaml"),
        good: include_str!("examples/partition-is-an-index.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::AppliesInOrder,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@rolls && @start >= 1 && @partition >= @start && @partition < @replicas",
    message: "'partition ' + string(@partition) + ' counts pods from 0, not from ordinals.start (' \
        + string(@start) + ')'",
    help: "subtract ordinals.start from it",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(partition) = read::partition(spec).map(i64::from) else { return };
    let ordinals = read::ordinals(spec);
    let start = ordinals.start;
    // partition-covers-all reports a partition that covers all pods.
    if start < 1 || partition < start || start + partition >= ordinals.end {
        return;
    }
    let name = subject.object.name();
    let held = read::pod_names(name, &(start..start + partition));
    let updated = read::pod_names(name, &(start + partition..ordinals.end));
    found.report(
        &ROLLING_UPDATE.child("partition"),
        Reason::Invalid,
        format!(
            "partition {partition} counts pods from 0, not from ordinals.start: it holds back \
             {held} and updates {updated}"
        ),
        format!("use {} to update {name}-{partition} and the pods after it", partition - start),
    );
}
