//! A fixed template that is not rolled out because broken pods use up `maxUnavailable`.

use super::read;
use crate::{
    finding::{Effect, Findings, Help, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET, since},
    object::{StatefulSetSpec, Subject},
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "parallel-rollout-stuck",
        summary: "a new template while broken parallel pods use up maxUnavailable",
        why: "\
With podManagementPolicy Parallel a new template is meant to replace broken pods at once. Where the feature
gate MaxUnavailableStatefulSet is on before 1.37, which is the default of 1.35.0 to 1.35.3, the controller
counts pods that are unavailable against `maxUnavailable`, also those that it is about to replace. As many
broken pods as `maxUnavailable` allows, one by default, stop the rollout: after a bad image a good one is
never rolled out. You have to delete the broken pods; they then come back with the new template.

Seen on a 1.35 control plane with the gate on: 3 replicas, the third not ready, a new image; nothing happens
until the pod is deleted, and then it comes back with the new image. On 1.37 it is replaced within seconds.

The patch release is known to the webhook and to `audit`; for `setguard check` use `--kube-version 1.35.3`.

Kubernetes: `updateStatefulSetAfterInvariantEstablished`,
pkg/controller/statefulset/stateful_set_control.go (kubernetes#137409, fixed by kubernetes#137666).",
        bad: include_str!("examples/parallel-rollout-stuck.bad.yaml"),
        good: include_str!("examples/parallel-rollout-stuck.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::StatefulSet(check),
    },
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
    // Pods that are scaled away don't count.
    let is_scaled_down = spec.replicas.unwrap_or(1) < created;
    if i64::from(broken) < most || is_scaled_down || !read::begins(subject, cluster) {
        return;
    }
    let (pods, is) =
        (if created == 1 { "pod" } else { "pods" }, if broken == 1 { "is" } else { "are" });
    let list = read::kubectl(Effect::Looks, "get pods", &subject.object, "");
    found.report(
        &SPEC.child("template"),
        Reason::Invalid,
        format!(
            "{broken} of {created} {pods} {is} not available, and this release counts them against \
             maxUnavailable, which is {most}: until they are available or deleted, the new template \
             is not rolled out, even if it is the fix"
        ),
        Help::say("if they do not become ready by themselves, delete the pods that ")
            .run(list)
            .and(" shows as broken: they come back with the new template"),
    );
}
