//! A selector on labels that the controller itself sets.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason, paths::SELECTOR},
    kubernetes::{cluster::Cluster, managed_labels, resource::Kind},
    object::Subject,
    rules::trap::{Check, OpenKruise, Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "selector-on-managed-labels",
        summary: "a selector on a label that the controller itself sets on its pods",
        why: "\
The controller sets its own labels on every pod that it creates: `controller-revision-hash` for both kinds,
`pod-template-generation` for a DaemonSet, `statefulset.kubernetes.io/pod-name` and
`apps.kubernetes.io/pod-index` for a StatefulSet. The API server matches the selector against the template,
which does not have these labels yet or has other values. So the pods do not match. A controller releases
pods that do not match, and a DaemonSet creates others in their place, without end.

Seen on a 1.36 control plane: a DaemonSet with `controller-revision-hash DoesNotExist` created 17, 26 and 40
pods within 2, 4 and 6 seconds on two nodes; one with `pod-template-generation: \"7\"` created 22 and 40
within 2 and 4 seconds. With `pod-template-generation In [\"1\"]` this begins with the first change of the
template. A StatefulSet creates its pods once, loses them at once, and can neither adopt nor replace them.

Kubernetes: `ClaimObject`, pkg/controller/controller_ref_manager.go; `CreatePodTemplate`,
pkg/controller/daemon/util/daemonset_util.go; `updateIdentity`, `setPodRevision`,
pkg/controller/statefulset/stateful_set_utils.go.",
        bad: include_str!("examples/selector-on-managed-labels.bad.yaml"),
        good: include_str!("examples/selector-on-managed-labels.good.yaml"),
        mode: Mode::Deny,
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    openkruise: OpenKruise::Applies,
    check: Check::Both(check),
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(selector) = read::selector(&subject.object) else { return };
    let (managed, outcome) = match subject.object.kind() {
        Kind::DaemonSet => {
            (managed_labels::OF_DAEMON_SETS, "creates others in their place, without end")
        }
        Kind::StatefulSet => {
            (managed_labels::OF_STATEFUL_SETS, "can neither adopt nor replace them")
        }
    };
    let mut report = |path: &Path<'_>, key: &str| {
        found.report(
            path,
            Reason::Invalid,
            format!(
                "the controller sets its own {key} on each pod, so its pods stop matching: it \
                 releases them and {outcome}"
            ),
            format!("leave {key} out of the selector"),
        );
    };
    let labels = SELECTOR.child("matchLabels");
    for key in selector.match_labels.iter().flat_map(|labels| labels.keys()) {
        if managed.contains(&key.as_str()) {
            report(&labels.key(key), key);
        }
    }
    let expressions = SELECTOR.child("matchExpressions");
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        // Exists matches whatever value the controller sets.
        if managed.contains(&expression.key.as_str()) && expression.operator != "Exists" {
            report(&expressions.index(i), &expression.key);
        }
    }
}
