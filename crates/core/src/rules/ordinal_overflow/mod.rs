use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "ordinal-overflow", group: NeverStarts, mode: Mode::Deny, cel: "cel.yaml";
    title: "the last ordinals are too large",
    summary: "ordinals.start so high that the last ordinals do not fit into 32 bits",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let ordinals = read::ordinals(spec);
    let highest = i64::from(i32::MAX);
    let last = ordinals.end - 1;
    if ordinals.is_empty() || last <= highest {
        return;
    }
    let start = ordinals.start;
    let replicas = ordinals.end - start;
    let message = format!(
        "the ordinals would run from {start} to {last}, and a pod with an ordinal above \
         {highest} can never be created"
    );
    let help = format!("use a start of at most {} for {replicas} replicas", highest + 1 - replicas);
    found.report(&SPEC.child("ordinals").child("start"), Reason::Invalid, message, help);
}
