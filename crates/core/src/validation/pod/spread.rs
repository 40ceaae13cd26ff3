use k8s_openapi::api::core::v1::TopologySpreadConstraint;

use super::util::positive;
use crate::validation::prelude::*;

const IN_BOTH: &str = "exists in both matchLabelKeys and labelSelector";
const NO_SELECTOR: &str = "must not be specified when labelSelector is not set";

/// Follows `validateTopologySpreadConstraints`.
pub(crate) fn validate(constraints: &[TopologySpreadConstraint], opts: &Options, path: &At<'_>) {
    for (i, constraint) in constraints.iter().enumerate() {
        one(constraint, &constraints[i + 1..], opts, &path.index(i));
    }
}

fn one(
    constraint: &TopologySpreadConstraint,
    rest: &[TopologySpreadConstraint],
    opts: &Options,
    path: &At<'_>,
) {
    positive(constraint.max_skew, &path.child("maxSkew"));
    if constraint.topology_key.is_empty() {
        path.child("topologyKey").required("can not be empty");
    }
    let action = constraint.when_unsatisfiable.as_str();
    one_of(Some(action), &["DoNotSchedule", "ScheduleAnyway"], &path.child("whenUnsatisfiable"));
    let key = &constraint.topology_key;
    if rest.iter().any(|other| other.topology_key == *key && other.when_unsatisfiable == action) {
        let value = format!("{{{key}, {action}}}");
        path.child("{topologyKey, whenUnsatisfiable}").duplicate(&value);
    }
    if let Some(domains) = constraint.min_domains {
        let path = path.child("minDomains");
        positive(domains, &path);
        if action != "DoNotSchedule" {
            let why =
                format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            path.invalid(domains, why);
        }
    }
    let policies = &["Honor", "Ignore"];
    let policy = constraint.node_affinity_policy.as_deref();
    one_of(policy, policies, &path.child("nodeAffinityPolicy"));
    let policy = constraint.node_taints_policy.as_deref();
    one_of(policy, policies, &path.child("nodeTaintsPolicy"));
    let selector = constraint.label_selector.as_ref();
    let keys = list(&constraint.match_label_keys);
    if opts.spread_by_merged_selector {
        match_label_keys(keys, &[], selector, path);
    } else {
        legacy_match_label_keys(keys, selector, &path.child("matchLabelKeys"));
    }
    if !opts.invalid_spread_selector {
        label_selector(selector, &path.child("labelSelector"));
    }
}

/// Follows `ValidateMatchLabelKeysAndMismatchLabelKeys`.
pub(crate) fn match_label_keys(
    matching: &[String],
    mismatching: &[String],
    selector: Option<&LabelSelector>,
    path: &At<'_>,
) {
    label_keys(matching, selector, &path.child("matchLabelKeys"));
    label_keys(mismatching, selector, &path.child("mismatchLabelKeys"));
    if let Some(selector) = selector.filter(|_| !matching.is_empty()) {
        // If a key occurs twice, the last one counts.
        let places: HashMap<&str, usize> =
            matching.iter().enumerate().map(|(i, key)| (key.as_str(), i)).collect();
        let mut seen = Seen::new();
        for expression in list(&selector.match_expressions) {
            let key = &expression.key;
            let labels = selector.match_labels.as_ref();
            let before = !seen.insert(key.as_str()) || labels.is_some_and(|l| l.contains_key(key));
            if before && let Some(&at) = places.get(key.as_str()) {
                // Upstream appends the index to the term, not to matchLabelKeys.
                path.index(at).invalid(key, IN_BOTH);
            }
        }
    }
    let mut mismatched = Seen::new();
    for key in mismatching {
        mismatched.insert(key.as_str());
    }
    for (i, key) in matching.iter().enumerate() {
        if mismatched.contains(key.as_str()) {
            let why = "exists in both matchLabelKeys and mismatchLabelKeys";
            path.child("matchLabelKeys").index(i).invalid(key, why);
        }
    }
}

/// Follows `validateLabelKeys`.
fn label_keys(keys: &[String], selector: Option<&LabelSelector>, path: &At<'_>) {
    if !keys.is_empty() && selector.is_none() {
        path.forbidden(NO_SELECTOR);
        return;
    }
    for (i, key) in keys.iter().enumerate() {
        label_key(key, &path.index(i));
    }
}

/// Follows `ValidateMatchLabelKeysInTopologySpread`.
fn legacy_match_label_keys(keys: &[String], selector: Option<&LabelSelector>, path: &At<'_>) {
    if !keys.is_empty() && selector.is_none() {
        path.forbidden(NO_SELECTOR);
    }
    for (key, path) in path.items(keys) {
        label_key(key, &path);
        let selected = selector.is_some_and(|selector| {
            selector.match_labels.as_ref().is_some_and(|labels| labels.contains_key(key))
                || list(&selector.match_expressions).iter().any(|e| e.key == *key)
        });
        if selected {
            path.invalid(key, IN_BOTH);
        }
    }
}

/// Follows `hasInvalidTopologySpreadConstraintLabelSelector`.
pub(crate) fn has_invalid_selector(spec: &PodSpec) -> bool {
    list(&spec.topology_spread_constraints).iter().any(|constraint| {
        let selector = constraint.label_selector.as_ref();
        !finds_nothing(|path| label_selector(selector, path))
    })
}

/// The API server validates `matchLabelKeys` in one of two ways, and neither is stricter than the other.
pub(crate) fn uses_label_keys(spec: &PodSpec) -> bool {
    let mut constraints = list(&spec.topology_spread_constraints).iter();
    constraints.any(|constraint| !list(&constraint.match_label_keys).is_empty())
}

/// Follows `hasInvalidTopologySpreadConstrainMatchLabelKeys`.
pub(crate) fn violates_merged(spec: &PodSpec) -> bool {
    list(&spec.topology_spread_constraints).iter().any(|constraint| {
        let keys = list(&constraint.match_label_keys);
        let selector = constraint.label_selector.as_ref();
        !finds_nothing(|path| match_label_keys(keys, &[], selector, path))
    })
}

/// Follows `hasLegacyInvalidTopologySpreadConstrainMatchLabelKeys`.
pub(crate) fn violates_legacy(spec: &PodSpec) -> bool {
    list(&spec.topology_spread_constraints).iter().any(|constraint| {
        let keys = list(&constraint.match_label_keys);
        let selector = constraint.label_selector.as_ref();
        !finds_nothing(|path| legacy_match_label_keys(keys, selector, path))
    })
}
