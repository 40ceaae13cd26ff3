use k8s_openapi::api::core::v1::PodAffinityTerm;

use super::pod::{CreatedPod, REFUSED};
use crate::validation::prelude::*;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Follows `mutatePodAffinity` and `mutateTopologySpreadConstraints`, pkg/registry/core/pod/strategy.go: each of the
/// `matchLabelKeys` that is a label of the pod becomes an expression of the selector. Then
/// `ValidateMatchLabelKeysAndMismatchLabelKeys` rejects the keys that occur in the selector twice.
pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    let on = |gate| pod.cluster.enabled(gate);
    let help = "name the key once: either in matchLabelKeys or in labelSelector";
    found.quote(REFUSED, help, |found| {
        let constraints = list(&pod.spec.topology_spread_constraints);
        let keys = constraints.iter().any(|it| !list(&it.match_label_keys).is_empty());
        let merged = || {
            on("MatchLabelKeysInPodTopologySpread")
                && on("MatchLabelKeysInPodTopologySpreadSelectorMerge")
        };
        if keys && merged() {
            let path = POD_SPEC.child("topologySpreadConstraints");
            let path = found.at(&path);
            for (i, it) in constraints.iter().enumerate() {
                let keys = list(&it.match_label_keys);
                label_keys(pod, keys, it.label_selector.as_ref(), &path.index(i));
            }
        }
        if pod.spec.affinity.is_some() && on("MatchLabelKeysInPodAffinity") {
            affinity(pod, found);
        }
    });
}

fn affinity(pod: &CreatedPod<'_>, found: &mut Findings) {
    let Some(affinity) = &pod.spec.affinity else { return };
    let path = POD_SPEC.child("affinity");
    let path = found.at(&path);
    let term = |it: &PodAffinityTerm, path: &At<'_>| {
        let keys = list(&it.match_label_keys);
        label_keys(pod, keys, it.label_selector.as_ref(), path);
    };
    for (name, required, preferred) in pod_affinity::groups(affinity) {
        let path = path.child(name);
        let at = path.child(REQUIRED);
        for (i, it) in required.iter().enumerate() {
            term(it, &at.index(i));
        }
        let at = path.child(PREFERRED);
        for (i, it) in preferred.iter().enumerate() {
            term(&it.pod_affinity_term, &at.index(i).child("podAffinityTerm"));
        }
    }
}

fn label_keys(
    pod: &CreatedPod<'_>,
    keys: &[String],
    selector: Option<&LabelSelector>,
    path: &At<'_>,
) {
    // Validation of the template reports keys without a selector.
    let Some(selector) = selector.filter(|_| !keys.is_empty()) else { return };
    let mut expressions: BTreeMap<&str, usize> = BTreeMap::new();
    for expression in list(&selector.match_expressions) {
        *expressions.entry(&expression.key).or_default() += 1;
    }
    let path = path.child("matchLabelKeys");
    let mut seen = Seen::new();
    for (i, key) in keys.iter().enumerate() {
        let is_first = seen.insert(key.as_str());
        if !pod.has_label(key) {
            continue;
        }
        let in_labels = selector.match_labels.as_ref().is_some_and(|it| it.contains_key(key));
        let in_expressions = expressions.get(key.as_str()).copied().unwrap_or(0);
        // Validation of the template reports this if the selector has the key even without its own expression.
        let reported = in_expressions > usize::from(!in_labels);
        let is_selected = in_labels || in_expressions > 0;
        // A key in the selector is reported once, any other key when it occurs again.
        if is_first == is_selected && !reported {
            path.index(i).invalid(key, "exists in both matchLabelKeys and labelSelector");
        }
    }
}
