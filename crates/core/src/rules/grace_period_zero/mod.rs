use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "grace-period-zero", group: Data, cel: "cel.yaml";
    title: "pods disappear before they have stopped",
    summary: "a StatefulSet whose pods disappear from the API before they have stopped",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let pod = spec.template.spec.as_ref();
    if pod.and_then(|pod| pod.termination_grace_period_seconds) != Some(0) {
        return;
    }
    found
        .report(
            &POD_SPEC.child("terminationGracePeriodSeconds"),
            Reason::Invalid,
            "a deleted pod disappears from the API before its processes have stopped, so two pods \
         may run with the same name, and with the same claims if it has some",
            "set the seconds that the process needs to stop; the default is 30",
        )
        .removable(false);
}
