//! Kubernetes: `dropDisabledMatchLabelKeysFieldInPodAffinity`, `pkg/api/pod/util.go`.

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};

use crate::kubernetes::{absent::list, pod_affinity::pod_terms};

pub(super) fn used(spec: &PodSpec) -> bool {
    let uses = |term: &PodAffinityTerm| {
        !list(&term.match_label_keys).is_empty() || !list(&term.mismatch_label_keys).is_empty()
    };
    pod_terms(spec).any(uses)
}

pub(super) fn drop(spec: &mut PodSpec) {
    let Some(affinity) = &mut spec.affinity else { return };
    let drop = |term: &mut PodAffinityTerm| {
        term.match_label_keys = None;
        term.mismatch_label_keys = None;
    };
    let (together, apart) = (&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity);
    let of = together.iter_mut().map(|it| {
        let required = &mut it.required_during_scheduling_ignored_during_execution;
        (required, &mut it.preferred_during_scheduling_ignored_during_execution)
    });
    let of = of.chain(apart.iter_mut().map(|it| {
        let required = &mut it.required_during_scheduling_ignored_during_execution;
        (required, &mut it.preferred_during_scheduling_ignored_during_execution)
    }));
    for (required, preferred) in of {
        required.iter_mut().flatten().for_each(drop);
        preferred.iter_mut().flatten().for_each(|term| drop(&mut term.pod_affinity_term));
    }
}
