use crate::rules::prelude::*;
use crate::validation::created_claim;

pub(super) static RULE: Rule = rule! {
    id: "claim-metadata-invalid", group: NeverStarts, mode: Mode::Deny;
    title: "the metadata of a claim is invalid",
    summary: "a claim template with metadata that the API server refuses in a claim",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    for (i, (_, claim)) in read::claims(spec).enumerate() {
        created_claim::validate(spec, claim, cluster, &CLAIM_TEMPLATES.index(i), found);
    }
}
