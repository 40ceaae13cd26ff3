//! Pods that are deleted together and created one by one.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::ROLLING_UPDATE},
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "max-unavailable-ordered",
        summary: "maxUnavailable above 1 with OrderedReady: more pods are down, nothing is faster",
        why: "\
With `maxUnavailable: 3` the controller deletes three pods at once. With podManagementPolicy
OrderedReady, the default, it then creates the first of them, waits until it is available, creates the
next, and so on. So three pods are down together for about as long as three updates in a row would
take: capacity is lost and no time is saved.

podManagementPolicy cannot be changed later. The rule runs only if the feature gate
MaxUnavailableStatefulSet is on: without it the field has no effect, see max-unavailable-ignored.

Seen on a 1.36 control plane with the gate on: 3 of 4 ready pods are deleted in the same second; one
is created, and the other two are missing until it is ready.

Kubernetes: `updateStatefulSetAfterInvariantEstablished`, `processReplica`,
pkg/controller/statefulset/stateful_set_control.go.",
        bad: include_str!("examples/max-unavailable-ordered.bad.yaml"),
        good: include_str!("examples/max-unavailable-ordered.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@.spec.?podManagementPolicy.orValue('') != 'Parallel' && @rolls && @replicas - \
        @partition >= 2 && \
        [@.spec.updateStrategy.?rollingUpdate.?maxUnavailable.orValue(dyn(1))].exists(n, \
        type(n) == int ? n >= 2 : (int(string(n).replace('%', '')) <= 100 && \
        int(string(n).replace('%', '')) * @replicas / 100 >= 2))",
    message: "'with podManagementPolicy OrderedReady an update takes several pods down together \
        but brings them back one by one, so more pods are down and nothing is faster'",
    help: "use maxUnavailable 1, or a new StatefulSet with podManagementPolicy Parallel",
    gate: Some(MAX_UNAVAILABLE_STATEFUL_SET),
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let parallel = spec.pod_management_policy.as_deref() == Some("Parallel");
    if parallel || !cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
        return;
    }
    let (Some(at_once), Some(partition)) = (read::max_unavailable(spec), read::partition(spec))
    else {
        return;
    };
    let updated = spec.replicas.unwrap_or(1).saturating_sub(partition);
    let at_once = at_once.min(updated.into());
    if at_once < 2 {
        return;
    }
    found.report(
        &ROLLING_UPDATE.child("maxUnavailable"),
        Reason::Invalid,
        format!(
            "with podManagementPolicy OrderedReady an update takes {at_once} pods down together \
             but brings them back one by one, so more pods are down and nothing is faster"
        ),
        "use maxUnavailable 1, or a new StatefulSet with podManagementPolicy Parallel",
    );
}
