use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};

use super::absent::list;

pub(crate) fn pod_terms(spec: &PodSpec) -> impl Iterator<Item = &PodAffinityTerm> {
    let affinity = spec.affinity.as_ref();
    let pods = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
    let anti = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required = pods
        .into_iter()
        .flat_map(|p| list(&p.required_during_scheduling_ignored_during_execution))
        .chain(
            anti.into_iter()
                .flat_map(|p| list(&p.required_during_scheduling_ignored_during_execution)),
        );
    let preferred = pods
        .into_iter()
        .flat_map(|p| list(&p.preferred_during_scheduling_ignored_during_execution))
        .chain(
            anti.into_iter()
                .flat_map(|p| list(&p.preferred_during_scheduling_ignored_during_execution)),
        );
    required.chain(preferred.map(|term| &term.pod_affinity_term))
}
