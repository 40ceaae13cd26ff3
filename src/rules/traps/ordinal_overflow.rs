//! Ordinals beyond 32 bits.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "ordinal-overflow",
        summary: "ordinals.start so high that the last ordinals do not fit into 32 bits",
        why: "\
The pods are numbered from `ordinals.start` to `start + replicas - 1`, and the controller parses the
number in the name of a pod as a 32-bit integer. A higher number cannot be parsed and counts as -1, so
the pod can never be created. The controller retries forever and reports only an error in its own log.

Seen on a 1.36 control plane: `start: 2147483647` with 2 replicas is accepted. The first pod is
created. For the second the controller tries to create a pod `overflow--1`, which the API server
refuses, again and again, without an event.

Kubernetes: `getParentNameAndOrdinal`, `updateIdentity`,
pkg/controller/statefulset/stateful_set_utils.go. Validation only requires that `start` is not negative.",
        bad: include_str!("examples/ordinal-overflow.bad.yaml"),
        good: include_str!("examples/ordinal-overflow.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@replicas > 0 && @start + @replicas - 1 > 2147483647",
    message: "'the ordinals would run from ' + string(@start) + ' to ' + string(@start + @replicas \
        - 1) + ', and a pod with an ordinal above 2147483647 can never be created'",
    help: "use a lower start",
    ..Cel::EMPTY
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let ordinals = read::ordinals(spec);
    let highest = i64::from(i32::MAX);
    let last = ordinals.end - 1;
    if ordinals.is_empty() || last <= highest {
        return;
    }
    let start = ordinals.start;
    let replicas = ordinals.end - start;
    found.report(
        &SPEC.child("ordinals").child("start"),
        Reason::Invalid,
        format!(
            "the ordinals would run from {start} to {last}, and a pod with an ordinal above \
             {highest} can never be created"
        ),
        format!("use a start of at most {} for {replicas} replicas", highest + 1 - replicas),
    );
}
