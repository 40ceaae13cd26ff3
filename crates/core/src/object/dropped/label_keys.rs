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
    if let Some(pods) = &mut affinity.pod_affinity {
        let required = &mut pods.required_during_scheduling_ignored_during_execution;
        required.iter_mut().flatten().for_each(drop);
        let preferred = &mut pods.preferred_during_scheduling_ignored_during_execution;
        preferred.iter_mut().flatten().for_each(|term| drop(&mut term.pod_affinity_term));
    }
    if let Some(pods) = &mut affinity.pod_anti_affinity {
        let required = &mut pods.required_during_scheduling_ignored_during_execution;
        required.iter_mut().flatten().for_each(drop);
        let preferred = &mut pods.preferred_during_scheduling_ignored_during_execution;
        preferred.iter_mut().flatten().for_each(|term| drop(&mut term.pod_affinity_term));
    }
}
