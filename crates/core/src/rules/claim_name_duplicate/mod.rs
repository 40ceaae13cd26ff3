use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-name-duplicate", group: Data, mode: Mode::Deny, cel: "cel.yaml";
    title: "two claim templates have the same name",
    summary: "volumeClaimTemplates with the same name: only the last one is used",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let mut names = BTreeSet::new();
    for (i, (name, _)) in read::claims(spec).enumerate() {
        if !names.insert(name) {
            found.report(
                &CLAIM_TEMPLATES.index(i).below("metadata.name"),
                Reason::Duplicate,
                format!(
                    "more than one claim template is named {name:?}, and each pod will get only \
                     one claim for them, made from the last"
                ),
                "give each claim template a different name",
            );
        }
    }
}
