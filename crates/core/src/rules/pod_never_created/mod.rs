use crate::rules::prelude::*;
use crate::validation::created_pod;

pub static RULE: Rule = rule! {
    id: "pod-never-created", group: NeverStarts, mode: Mode::Deny;
    title: "no pod can be created from the template",
    summary: "a template that the API server accepts, but refuses in each pod made from it",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    created_pod::validate(&subject.object, cluster, found);
}
