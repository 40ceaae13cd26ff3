use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "partition-is-an-index", group: Rollout, cel: "cel.yaml";
    title: "partition counts pods, not ordinals",
    summary: "a partition that looks like an ordinal, but counts pods from 0",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::StatefulSet(check))],
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
    let message = format!(
        "partition {partition} counts pods from 0, not from ordinals.start: it holds back \
         {held} and updates {updated}"
    );
    let help =
        format!("use {} to update {name}-{partition} and the pods after it", partition - start);
    found.report(&ROLLING_UPDATE.child("partition"), Reason::Invalid, message, help);
}
