use crate::rules::prelude::*;
use crate::validation::object_meta;

pub(super) static RULE: Rule = rule! {
    id: "template-finalizers", group: Rollout, cel: "cel.yaml";
    title: "deleted pods stay Terminating",
    summary: "a template with finalizers: every deleted pod stays Terminating",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let metadata = subject.object.template().metadata.as_ref();
    let finalizers = metadata.and_then(|it| it.finalizers.as_deref()).unwrap_or_default();
    // If no pod may have the finalizer, no pod is created, so none can get stuck.
    if finalizers.is_empty() || object_meta::refuses_finalizers(finalizers) {
        return;
    }
    found
        .report(
            &TEMPLATE.child("metadata").child("finalizers"),
            Reason::Forbidden,
            format!(
                "every deleted pod stays Terminating, and the rollout waits, until you remove \
             {} from it",
                finalizers.join(", ")
            ),
            "leave the finalizers out of the template",
        )
        .removable(false);
}
