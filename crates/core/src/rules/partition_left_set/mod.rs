use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "partition-left-set", group: Rollout, mode: Mode::Audit, cel: "cel.yaml";
    title: "partition holds back the new template",
    summary: "a new template while the partition still holds back the previous one",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(partition) = read::partition_still_held(subject, cluster) else { return };
    let ordinals = read::ordinals(spec);
    let below = ordinals.start..ordinals.start + i64::from(partition);
    let message = format!(
        "partition {partition} still holds back the previous template from {}, and now this \
         one too",
        read::pod_names(subject.object.name(), &below)
    );
    let help = "use partition 0 to end the rollout";
    found.report(&ROLLING_UPDATE.child("partition"), Reason::Invalid, message, help);
}
