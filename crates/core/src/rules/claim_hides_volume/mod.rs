use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-hides-volume", group: Data, cel: "cel.yaml";
    title: "a claim template replaces a volume",
    summary: "a claim template that replaces a volume of the same name in every pod",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref() else { return };
    let claims: HashSet<&str> = read::claims(spec).map(|(name, _)| name).collect();
    for (i, volume) in pod.volumes.iter().flatten().enumerate() {
        let claim = volume.persistent_volume_claim.as_ref();
        let is_meant = volume.empty_dir.is_some()
            || claim.is_some_and(|claim| claim.claim_name == volume.name);
        if !is_meant && claims.contains(volume.name.as_str()) {
            let message = format!(
                "no pod will have this volume: the claim template {:?} replaces it",
                volume.name
            );
            let help = "give one of the two another name, or remove the volume";
            found.report(&VOLUMES.index(i).child("name"), Reason::Duplicate, message, help);
        }
    }
}
