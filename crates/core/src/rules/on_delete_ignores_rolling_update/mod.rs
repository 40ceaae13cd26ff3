use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "on-delete-ignores-rolling-update", group: Rollout, cel: "cel.yaml";
    title: "rollingUpdate is ignored under OnDelete",
    summary: "a DaemonSet with settings for rolling updates under OnDelete",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(strategy) = &spec.update_strategy else { return };
    let Some(rolling) = &strategy.rolling_update else { return };
    let is = |value: &Option<IntOrString>, defaults: &[i32]| match value {
        None => true,
        Some(IntOrString::Int(number)) => defaults.contains(number),
        Some(IntOrString::String(_)) => false,
    };
    let is_default = is(&rolling.max_unavailable, &[0, 1]) && is(&rolling.max_surge, &[0]);
    if strategy.type_.as_deref() != Some("OnDelete") || is_default {
        return;
    }
    let message = "type OnDelete ignores rollingUpdate: a pod is replaced only after you delete it";
    let help = "use type RollingUpdate, or leave rollingUpdate out";
    found
        .report(&UPDATE_STRATEGY.child("rollingUpdate"), Reason::Forbidden, message, help)
        .removable(true);
}
