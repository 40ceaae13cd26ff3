use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "selector-too-broad", group: Names, cel: "cel.yaml";
    title: "the selector matches other pods",
    summary: "a DaemonSet whose selector matches pods that are not its own",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

/// Pods of many workloads have these labels with the same value.
const SHARED: &[&str] = &[
    "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "app.kubernetes.io/version",
    "env", "environment", "helm.sh/chart", "heritage",
];
/// Nearly every pod has these labels, with a different value for each workload.
const COMMON: &[&str] = &[
    "app", "app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/name",
    "component", "k8s-app", "name",
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
        let message = "the selector also matches unrelated pods: those without an owner are adopted and \
             deleted";
        let help = "select by a label with a value that only these pods have, such as app: NAME";
        found.report(&SPEC.child("selector"), Reason::Invalid, message, help);
    }
}
