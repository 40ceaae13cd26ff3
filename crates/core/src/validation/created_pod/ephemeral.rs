use super::pod::{CreatedPod, REFUSED};
use crate::finding::paths::CLAIM_TEMPLATES;
use crate::rollout::stateful_set::ordinals;
use crate::validation::prelude::*;

/// `ValidateVolumes`: a volume must not use the claim of an ephemeral volume of the same pod. A claim's name begins
/// with the pod's, and only a StatefulSet's pods have predictable names.
pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    let Some(set) = pod.stateful_set() else { return };
    let Some(name) = pod.object.metadata.name.as_deref().filter(|name| !name.is_empty()) else {
        return;
    };
    let ephemeral = pod.volumes().filter(|(_, volume)| volume.ephemeral.is_some());
    let ephemeral: BTreeSet<&str> = ephemeral.map(|(_, volume)| volume.name.as_str()).collect();
    if ephemeral.is_empty() {
        return;
    }
    let ordinals = ordinals(set);
    let is_created = |claim: &str| {
        let rest = claim.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        rest.and_then(|rest| rest.split_once('-')).is_some_and(|(ordinal, volume)| {
            let number = ordinal.parse().ok().filter(|it: &i64| it.to_string() == ordinal);
            number.is_some_and(|it| ordinals.contains(&it)) && ephemeral.contains(volume)
        })
    };
    let help = "each pod gets a claim of this name for its ephemeral volume: rename the volume";
    found.quote(REFUSED, help, |found| {
        let detail = "must not reference a PVC that gets created for an ephemeral volume";
        for (i, volume) in pod.volumes() {
            let claim = volume.persistent_volume_claim.as_ref().map(|it| &it.claim_name);
            if let Some(claim) = claim.filter(|claim| is_created(claim)) {
                let path = VOLUMES.index(i);
                found.at(&path.below("persistentVolumeClaim.claimName")).invalid(claim, detail);
            }
        }
        for template in pod.claims() {
            let claim = format!("{template}-{name}-{}", ordinals.start);
            if is_created(&claim) {
                found.at(&CLAIM_TEMPLATES).invalid(&claim, detail);
            }
        }
    });
}
