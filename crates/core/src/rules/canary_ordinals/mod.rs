use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "canary-ordinals", group: Rollout, mode: Mode::Audit;
    title: "a partition holds back some pods",
    summary: "the pods that an update with a partition reaches",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old() else { return };
    let Some(before) = old.stateful_set().and_then(read::partition) else { return };
    let Some(partition) = read::partition(spec) else { return };
    let ordinals = read::ordinals(spec);
    let replicas = ordinals.end - ordinals.start;
    // partition-covers-all reports an update that reaches no pod, and partition-left-set one that the partition still
    // holds back.
    if partition < 0
        || i64::from(partition) >= replicas
        || read::partition_still_held(subject, cluster).is_some()
    {
        return;
    }
    let pods = |from: i32, to: i64| {
        let to = ordinals.start + to.min(replicas);
        read::pod_names(subject.object.name(), &(ordinals.start + i64::from(from)..to))
    };
    let status = read::stateful_set_status(old);
    let held_back = status.is_none_or(|s| s.current_revision != s.update_revision);
    let (message, help) = if subject.template_changes(cluster) && partition > 0 {
        let (reached, kept) = (pods(partition, replicas), pods(0, partition.into()));
        let message =
            format!("only {reached} will get the new template, and {kept} will keep the old one");
        (message, "lower the partition to continue".to_owned())
    } else if partition < before && (held_back || subject.template_changes(cluster)) {
        let all = subject.template_changes(cluster);
        let reached = pods(partition, if all { replicas } else { before.into() });
        let message = format!(
            "lowering the partition from {before} to {partition} lets the rollout reach \
             {reached}"
        );
        (message, format!("keep {before} to let the rollout go no further"))
    } else if partition > before && held_back {
        let kept = pods(before, partition.into());
        let message = format!(
            "raising the partition from {before} to {partition} rolls nothing back: {kept} will \
             not change until deleted, and will then come back with the old template"
        );
        (message, "apply the old template to roll back".to_owned())
    } else {
        return;
    };
    let written = SPEC.below("updateStrategy.rollingUpdate.partition");
    // 0 is the default, so the field may be absent.
    let field = if partition > 0 { &written } else { &SPEC };
    found.report(field, Reason::Invalid, message, help);
}
