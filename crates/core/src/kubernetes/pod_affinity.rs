use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec, WeightedPodAffinityTerm};

use super::absent::list;

/// A field, with its required and its preferred terms.
type Terms<'a> = (&'static str, &'a [PodAffinityTerm], &'a [WeightedPodAffinityTerm]);

pub(crate) fn groups(affinity: &Affinity) -> impl Iterator<Item = Terms<'_>> {
    let together = affinity.pod_affinity.as_ref().map(|it| {
        let required = list(&it.required_during_scheduling_ignored_during_execution);
        ("podAffinity", required, list(&it.preferred_during_scheduling_ignored_during_execution))
    });
    let apart = affinity.pod_anti_affinity.as_ref().map(|it| {
        let required = list(&it.required_during_scheduling_ignored_during_execution);
        let preferred = list(&it.preferred_during_scheduling_ignored_during_execution);
        ("podAntiAffinity", required, preferred)
    });
    together.into_iter().chain(apart)
}

pub(crate) fn pod_terms(spec: &PodSpec) -> impl Iterator<Item = &PodAffinityTerm> {
    spec.affinity.iter().flat_map(groups).flat_map(|(_, required, preferred)| {
        required.iter().chain(preferred.iter().map(|it| &it.pod_affinity_term))
    })
}
