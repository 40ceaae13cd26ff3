//! What a toleration tolerates.

use k8s_openapi::api::core::v1::Toleration;

/// Whether `broad` tolerates every taint that `narrow` tolerates, for at least as long.
///
/// Kubernetes: `ToleratesTaint`, staging/src/k8s.io/api/core/v1/toleration.go.
pub(crate) fn covers(broad: &Toleration, narrow: &Toleration) -> bool {
    let lasts = match (broad.toleration_seconds, narrow.toleration_seconds) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(broad), Some(narrow)) => broad >= narrow,
    };
    let effect = text(&broad.effect).is_empty() || text(&broad.effect) == text(&narrow.effect);
    let key = text(&broad.key).is_empty() || text(&broad.key) == text(&narrow.key);
    let value = match (operator(broad), operator(narrow)) {
        ("Exists", _) => true,
        // Equal tolerates one value only, so it cannot cover Exists, which tolerates all.
        ("Equal", "Equal") => text(&broad.value) == text(&narrow.value),
        _ => false,
    };
    lasts && effect && key && value
}

/// Whether it tolerates a taint that has this key and effect, and no value.
pub(crate) fn tolerates(toleration: &Toleration, key: &str, effect: &str) -> bool {
    (text(&toleration.effect).is_empty() || text(&toleration.effect) == effect)
        && (text(&toleration.key).is_empty() || text(&toleration.key) == key)
        && match operator(toleration) {
            "Exists" => true,
            "Equal" => text(&toleration.value).is_empty(),
            _ => false,
        }
}

pub(crate) fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

pub(crate) fn operator(toleration: &Toleration) -> &str {
    match text(&toleration.operator) {
        "" => "Equal",
        operator => operator,
    }
}
