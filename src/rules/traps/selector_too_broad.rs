//! A selector that also matches unrelated pods.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{DaemonSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "selector-too-broad",
        summary: "a DaemonSet whose selector matches pods that are not its own",
        why: "\
A DaemonSet adopts every pod of its namespace that its selector matches and that no other controller owns:
pods run by hand, tests of a Helm release, pods of an operator that sets no owner. It then deletes those
on nodes where it wants none, all but one if several run on a node, and finally all of them, because they
were not created from its template. The API server refuses only the empty selector.

Seen on a 1.36 control plane: three bare pods, then a DaemonSet with the selector
`app.kubernetes.io/managed-by: Helm`, a label that all three have; all were adopted and deleted within four
seconds. The same happened with the selector `nope DoesNotExist`.

The rule reports selectors that only exclude labels or values, only require that a common label exists, or
only match labels that many unrelated pods share.

Kubernetes: `ClaimObject`, pkg/controller/controller_ref_manager.go; `podsShouldBeOnNode`,
pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/selector-too-broad.bad.yaml"),
        good: include_str!("examples/selector-too-broad.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::DaemonSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@.spec.selector.?matchLabels.orValue({}).all(k, k in \
        ['app.kubernetes.io/managed-by', 'app.kubernetes.io/part-of', \
        'app.kubernetes.io/version', 'env', 'environment', 'helm.sh/chart', 'heritage']) && \
        @.spec.selector.?matchExpressions.orValue([]).all(e, e.operator == 'In' ? e.key in \
        ['app.kubernetes.io/managed-by', 'app.kubernetes.io/part-of', \
        'app.kubernetes.io/version', 'env', 'environment', 'helm.sh/chart', 'heritage'] : \
        (e.operator == 'Exists' ? (e.key in ['app.kubernetes.io/managed-by', \
        'app.kubernetes.io/part-of', 'app.kubernetes.io/version', 'env', 'environment', \
        'helm.sh/chart', 'heritage'] || e.key in ['app', 'app.kubernetes.io/component', \
        'app.kubernetes.io/instance', 'app.kubernetes.io/name', 'component', 'k8s-app', \
        'name']) : true))",
    message: "'the selector also matches unrelated pods: those without an owner are adopted and \
        deleted'",
    help: "select by a label with a value that only these pods have, such as app: NAME",
    ..Cel::EMPTY
};

/// Labels that pods of many workloads have with the same value.
const SHARED: &[&str] = &[
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "env",
    "environment",
    "helm.sh/chart",
    "heritage",
];
/// Labels that nearly every pod has, with a value that differs between workloads.
const COMMON: &[&str] = &[
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/name",
    "component",
    "k8s-app",
    "name",
];

fn check(_: &DaemonSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(selector) = read::selector(&subject.object) else { return };
    let mut labels = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    let is_broad = labels.all(|(key, _)| SHARED.contains(&key.as_str()))
        && expressions.iter().all(|expression| {
            let key = expression.key.as_str();
            match expression.operator.as_str() {
                "In" => SHARED.contains(&key),
                "Exists" => SHARED.contains(&key) || COMMON.contains(&key),
                _ => true,
            }
        });
    if is_broad {
        found.report(
            &SPEC.child("selector"),
            Reason::Invalid,
            "the selector also matches unrelated pods: those without an owner are adopted and \
             deleted",
            "select by a label with a value that only these pods have, such as app: NAME",
        );
    }
}
