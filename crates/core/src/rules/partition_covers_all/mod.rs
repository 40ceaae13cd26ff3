use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "partition-covers-all", group: Rollout, cel: "cel.yaml";
    title: "partition covers all replicas",
    summary: "a partition that is not below the number of replicas: nothing is rolled out",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(partition) = read::partition(spec) else { return };
    let replicas = spec.replicas.unwrap_or(1);
    if replicas < 1 || !read::replaced(&read::ordinals(spec), partition.into()).is_empty() {
        return;
    }
    let pods =
        if replicas == 1 { "the only replica".into() } else { format!("all {replicas} replicas") };
    let last = replicas - 1;
    let message = format!(
        "partition {partition} covers {pods}, so a changed template reaches no pod and \
         `kubectl rollout status` still reports success"
    );
    let help = match last {
        0 => "use partition 0, which updates it".to_owned(),
        _ => format!("use 0 to update all pods, or up to {last} to update only the last ones"),
    };
    found
        .report(&ROLLING_UPDATE.child("partition"), Reason::Invalid, message, help)
        .removable(false);
}
