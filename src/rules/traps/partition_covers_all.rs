//! A partition that covers all replicas.

use super::read;
use crate::{
    finding::{Findings, Fix, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "partition-covers-all",
        summary: "a partition that is not below the number of replicas: nothing is rolled out",
        why: "\
A rolling update reaches the pods from index `replicas - 1` down to `partition`. If the partition is
not below `replicas`, there are none: every new image is accepted and no pod ever gets it,
`kubectl rollout status` prints \"partitioned roll out complete: 0 new pods have been updated\" and exits
with 0, and a pod that is deleted comes back with the old template.

Seen on a 1.36 control plane: 2 replicas, `partition: 5`, a new image; both pods keep the old one.
The partition counts from 0, whatever the value of `ordinals.start`.

Kubernetes: `performUpdate` and `newVersionedStatefulSetPod`,
pkg/controller/statefulset/stateful_set_control.go and stateful_set_utils.go;
`StatefulSetStatusViewer`, kubectl pkg/polymorphichelpers/rollout_status.go.",
        bad: include_str!("examples/partition-covers-all.bad.yaml"),
        good: include_str!("examples/partition-covers-all.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@rolls && @replicas >= 1 && @partition >= @replicas",
    message: "'partition ' + string(@partition) + ' covers all replicas (' + string(@replicas) + \
        '), so a changed template reaches no pod and `kubectl rollout status` still reports \
        success'",
    help: "use 0 to update all pods, or less than the replicas to update only the last ones",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let (Some(partition), Some(replicas)) = (read::partition(spec), spec.replicas) else { return };
    if replicas < 1 || !read::replaced(&read::ordinals(spec), partition.into()).is_empty() {
        return;
    }
    let pods =
        if replicas == 1 { "the only replica".into() } else { format!("all {replicas} replicas") };
    let last = replicas - 1;
    found
        .report(
            &ROLLING_UPDATE.child("partition"),
            Reason::Invalid,
            format!(
                "partition {partition} covers {pods}, so a changed template reaches no pod and \
             `kubectl rollout status` still reports success"
            ),
            match last {
                0 => "use partition 0, which updates it".to_owned(),
                _ => format!(
                    "use 0 to update all pods, or up to {last} to update only the last ones"
                ),
            },
        )
        .fixed_by(Fix::use_default(&ROLLING_UPDATE.child("partition")));
}
