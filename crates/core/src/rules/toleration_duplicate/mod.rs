use crate::kubernetes::tolerations::{Index, covers};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "toleration-duplicate", group: Nodes, mode: Mode::Audit, cel: "cel.yaml";
    title: "another toleration covers this one",
    summary: "a toleration that a broader one in the list covers already",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let list = list(&spec.tolerations);
    let index = Index::of(list.iter().enumerate());
    let limited = |it: &Toleration| it.toleration_seconds.is_some();
    let mut next_limited = list.len();
    let mut needless = Vec::new();
    for (i, toleration) in list.iter().enumerate().rev() {
        if limited(toleration) {
            next_limited = i;
        }
        // The first toleration that matches a taint decides, so a later one makes this one redundant only if none in
        // between has a time limit. Of two equal ones the first is kept.
        let before = index.first_before(i, toleration);
        let after = || index.first_after(i, toleration).filter(|j| *j < next_limited);
        needless.extend(before.or_else(after).map(|j| (i, j)));
    }
    for (i, j) in needless.into_iter().rev() {
        let what = if covers(&list[i], &list[j]) { "is the same" } else { "covers it" };
        let message = format!("the toleration adds nothing: tolerations[{j}] {what}");
        let help = "leave it out";
        found.report(&TOLERATIONS.index(i), Reason::Duplicate, message, help).removable(true);
    }
}
