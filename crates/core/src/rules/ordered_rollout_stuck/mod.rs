use k8s_openapi::api::apps::v1::StatefulSetStatus;

use crate::rules::prelude::*;
use crate::{kubernetes::cluster::STATEFUL_SET_RECREATE_STRATEGY, rules::rollout_waits};

pub(super) static RULE: Rule = rule! {
    id: "ordered-rollout-stuck", group: Rollout, cel: "cel.yaml";
    title: "the rollout waits for a broken pod",
    summary: "a new template while an ordered pod is not ready: the rollout waits for that pod",
    scopes: [Scope::trap(OpenKruise::DoesNotApply, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old() else { return };
    let ordered = spec.pod_management_policy.as_deref() != Some("Parallel");
    let Some(partition) = read::partition(spec).filter(|_| ordered) else { return };
    let partition = i64::from(partition);
    let (Some(old_spec), Some(status)) = (old.stateful_set(), read::stateful_set_status(old))
    else {
        return;
    };
    let created = status.replicas;
    let waiting = created.saturating_sub(status.ready_replicas.unwrap_or(0));
    let suspect = suspect(old_spec, &status).filter(|_| waiting == 1);
    // A pod that is scaled away need not become ready.
    let stays = |ordinal| read::ordinals(spec).contains(&ordinal);
    if waiting < 1 || !suspect.is_none_or(stays) || !read::begins(subject, cluster) {
        return;
    }
    let pods = if created == 1 { "pod" } else { "pods" };
    let is = if waiting == 1 { "is" } else { "are" };
    let start = read::ordinals(spec).start;
    let is_bare = rollout_waits::is_bare(&subject.object, &status, suspect, cluster);
    let help = advice(&subject.object, suspect, start, partition);
    found.report(
        &SPEC.child("template"),
        Reason::Invalid,
        rollout_waits::ordered(&format!("{waiting} of {created} {pods} {is} not ready")),
        help.and(if is_bare { rollout_waits::WRITE_BLOCK } else { "" }).and(recreate(cluster)),
    );
}

/// A pod below the partition comes back with the old template, so deleting it does not help.
fn advice(object: &Object<'_>, suspect: Option<i64>, start: i64, partition: i64) -> Help {
    let list = read::kubectl(Effect::Looks, "get pods", object, "");
    let Some(ordinal) = suspect else {
        let below = if partition > 0 {
            format!(
                "; those below the partition, {partition}, come back with the old template, so \
                 lower the partition first"
            )
        } else {
            String::new()
        };
        return Help::say("delete the pods that ").run(list).and(" shows as broken").and(&below);
    };
    let pod = format!("{}-{ordinal}", object.name());
    let delete = read::kubectl(Effect::Restarts(1), "delete pod", object, &pod);
    let index = ordinal - start;
    let see = Help::say("see with ")
        .run(list)
        .and(&format!(" whether {pod} is the broken pod, as the status suggests"));
    let lower = format!("lower the partition to {index} or less and then run ");
    let lower = Help::say(lower).run(delete.clone());
    if let Some(below) = rollout_waits::below_partition(index, partition, lower) {
        return see.and("; ").then(below);
    }
    see.and(", and run ").run(delete).and(" if it does not become ready by itself")
}

/// The strategy that does not wait, if the cluster has it.
fn recreate(cluster: &Cluster) -> &'static str {
    if cluster.enabled(STATEFUL_SET_RECREATE_STRATEGY) {
        "; updateStrategy.type Recreate would not wait, but takes all pods down with each template"
    } else {
        ""
    }
}

/// The pod that is probably not ready, from the counts in the status. Pods start from the first to the last, each when
/// the one before it is ready, and are updated from the last to the first. A pod that broke later looks like the one
/// that started last.
fn suspect<T>(spec: &StatefulSetSpec<T>, status: &StatefulSetStatus) -> Option<i64> {
    let ordinals = read::ordinals(spec);
    let wanted = ordinals.end - ordinals.start;
    let created = i64::from(status.replicas);
    let updated = status.updated_replicas.map_or(0, i64::from);
    let updating = status.update_revision != status.current_revision;
    match (updating, created == wanted) {
        _ if wanted == 1 => Some(ordinals.start),
        (false, false) => Some(ordinals.start + created - 1),
        (true, true) if updated > 0 => Some(ordinals.end - updated),
        _ => None,
    }
    .filter(|ordinal| ordinals.contains(ordinal))
}
