use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "max-unavailable-ordered", group: Rollout, cel: "cel.yaml";
    title: "maxUnavailable above 1 makes nothing faster",
    summary: "maxUnavailable above 1 with OrderedReady: more pods are down, nothing is faster",
    scopes: [Scope::trap(OpenKruise::DoesNotApply, ObjectCheck::StatefulSet(check))],
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
    let message = format!(
        "with podManagementPolicy OrderedReady an update takes {at_once} pods down together \
         but brings them back one by one, so more pods are down and nothing is faster"
    );
    let help = "use maxUnavailable 1, or a new StatefulSet with podManagementPolicy Parallel";
    found.report(&ROLLING_UPDATE.child("maxUnavailable"), Reason::Invalid, message, help);
}
