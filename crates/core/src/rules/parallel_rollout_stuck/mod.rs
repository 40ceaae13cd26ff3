use crate::rules::prelude::*;
use crate::{
    kubernetes::cluster::since,
    rules::rollout_waits::{WRITE_BLOCK, is_bare},
};

pub(super) static RULE: Rule = rule! {
    id: "parallel-rollout-stuck", group: Rollout;
    title: "broken pods use up maxUnavailable",
    summary: "a new template while broken parallel pods use up maxUnavailable",
    scopes: [Scope::trap(OpenKruise::DoesNotApply, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old() else { return };
    let counts_broken = cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET)
        && !cluster.has(since::REPLACES_UNAVAILABLE_FIRST);
    let is_parallel = spec.pod_management_policy.as_deref() == Some("Parallel");
    if !counts_broken || !is_parallel || read::partition(spec).is_none() {
        return;
    }
    let Some(status) = read::stateful_set_status(old) else { return };
    let (created, available) = (status.replicas, status.available_replicas.unwrap_or(0));
    let most = read::max_unavailable(spec).unwrap_or(1);
    let broken = created.saturating_sub(available);
    // Pods that are scaled away do not count.
    let is_scaled_down = spec.replicas.unwrap_or(1) < created;
    if i64::from(broken) < most || is_scaled_down || !read::begins(subject, cluster) {
        return;
    }
    let (pods, is) =
        (if created == 1 { "pod" } else { "pods" }, if broken == 1 { "is" } else { "are" });
    let is_bare = is_bare(&subject.object, &status, None, cluster);
    let list = read::kubectl(Effect::Looks, "get pods", &subject.object, "");
    let message = format!(
        "{broken} of {created} {pods} {is} not available, and this release counts them against \
         maxUnavailable, which is {most}: until they are available or deleted, the new template \
         is not rolled out, even if it is the fix"
    );
    let help = Help::say("if they do not become ready by themselves, delete the pods that ")
        .run(list)
        .and(match is_bare {
            true => " shows as broken",
            false => " shows as broken: they come back with the new template",
        })
        .and(if is_bare { WRITE_BLOCK } else { "" });
    found.report(&SPEC.child("template"), Reason::Invalid, message, help);
}
