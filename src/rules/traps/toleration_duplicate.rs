//! A toleration that adds nothing.

use k8s_openapi::api::core::v1::Toleration;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::TOLERATIONS},
    kubernetes::{cluster::Cluster, tolerations::covers},
    object::Subject,
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "toleration-duplicate",
        summary: "a toleration that another one in the list covers already",
        why: "\
A toleration without a key tolerates every key, one without an effect every effect, and `Exists` every
value. A toleration that a broader one covers is not needed, and neither is a second copy. It does no harm,
but it misleads: users who remove it to keep the pods off some nodes change nothing.

The API server does not check for either.

Kubernetes: `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.",
        bad: include_str!("examples/toleration-duplicate.bad.yaml"),
        good: include_str!("examples/toleration-duplicate.good.yaml"),
        mode: Mode::Audit,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Applies,
    check: Check::Both(check),
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    for (i, toleration) in list.iter().enumerate() {
        let mut others = (0..list.len()).filter(|j| *j != i);
        if let Some(j) = others.find(|j| makes_needless(list, i, *j)) {
            let what = if covers(toleration, &list[j]) { "is the same" } else { "covers it" };
            found.report(
                &TOLERATIONS.index(i),
                Reason::Duplicate,
                format!("the toleration adds nothing: tolerations[{j}] {what}"),
                "leave it out",
            );
        }
    }
}

/// Whether the toleration at `i` can be removed because of the one at `j`.
fn makes_needless(list: &[Toleration], i: usize, j: usize) -> bool {
    let (narrow, broad) = (&list[i], &list[j]);
    if !covers(broad, narrow) {
        return false;
    }
    // The first toleration that matches a taint decides. Of two equal ones the first is kept.
    let until = &list[i..j.max(i)];
    j < i
        || (!covers(narrow, broad)
            && until.iter().chain([broad]).all(|it| it.toleration_seconds.is_none()))
}
