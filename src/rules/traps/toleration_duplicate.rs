//! D13: a toleration that adds nothing.

use k8s_openapi::api::core::v1::Toleration;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason},
    kubernetes::{cluster::Cluster, tolerations::covers},
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "toleration-duplicate",
        summary: "a toleration that another one in the list covers already",
        why: "\
A toleration without a key tolerates every key, one without an effect every effect, and `Exists` every
value. What such a broader one covers need not be there, and what is there twice need be there once. It
does no harm, but it misleads: whoever removes it to keep the pods off some nodes changes nothing.

The API server does not look for either.

Kubernetes: `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Audit,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let spec = read::pod_spec(&subject.object);
    let list = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    read::at_pod_spec(|path| {
        let path = path.child("tolerations");
        for (i, toleration) in list.iter().enumerate() {
            let mut others = (0..list.len()).filter(|j| *j != i);
            if let Some(j) = others.find(|j| makes_needless(list, i, *j)) {
                let what = if covers(toleration, &list[j]) { "is the same" } else { "covers it" };
                found.report(
                    &path.index(i),
                    Reason::Duplicate,
                    format!("the toleration adds nothing: tolerations[{j}] {what}"),
                    "leave it out",
                );
            }
        }
    });
}

/// Whether the toleration at `i` can go because of the one at `j`.
fn makes_needless(list: &[Toleration], i: usize, j: usize) -> bool {
    let (narrow, broad) = (&list[i], &list[j]);
    if !covers(broad, narrow) {
        return false;
    }
    // Of those that tolerate a taint the first decides, and of two that are the same it stays.
    let until = &list[i..j.max(i)];
    j < i
        || (!covers(narrow, broad)
            && until.iter().chain([broad]).all(|it| it.toleration_seconds.is_none()))
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      tolerations:
        - {effect: NoSchedule, operator: Exists}
        - {key: CriticalAddonsOnly, operator: Exists, effect: NoSchedule}
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}

";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      tolerations:
        - {effect: NoSchedule, operator: Exists}
        - {key: CriticalAddonsOnly, operator: Exists, effect: NoExecute}
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}

";
