use crate::rules::prelude::*;
use crate::validation::created_pod;

pub(super) static RULE: Rule = rule! {
    id: "template-scheduling-gates", group: NeverStarts, cel: "cel.yaml";
    title: "every pod waits for its scheduling gates",
    summary: "a template with schedulingGates: every pod waits for them to be removed",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let gates = spec.scheduling_gates.as_deref().unwrap_or_default();
    // With a node too, no pod is created, so none can wait.
    if gates.is_empty() || created_pod::is_bound_and_gated(spec) {
        return;
    }
    let names: Vec<_> = gates.iter().map(|gate| gate.name.as_str()).collect();
    let message = format!(
        "no pod is scheduled until you remove {} from it, again for each new pod",
        names.join(", ")
    );
    let help = "leave the gates out of the template, and let a webhook put them on pods";
    found
        .report(&POD_SPEC.child("schedulingGates"), Reason::Forbidden, message, help)
        .removable(false);
}
