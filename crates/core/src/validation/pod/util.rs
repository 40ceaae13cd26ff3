use std::{collections::HashSet, hash::Hash};

use k8s_openapi::{
    api::core::v1::{Container, LocalObjectReference, PodSpec},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use crate::{
    finding::{At, Findings, Path, SOME_RULE, Value},
    kubernetes::{
        containers,
        names::{self, Messages},
        selector,
    },
};

pub(crate) use crate::kubernetes::{
    absent::{list, text},
    labels::label_key,
};

/// `defaultMode` and `mode`
const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// How many values [`Seen`] holds without allocating.
const FEW: usize = 8;

/// The first few values are stored inline and the rest are hashed, so no list takes quadratic time.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    few: [Option<T>; FEW],
    many: HashSet<T>,
}

impl<T: Copy + Eq + Hash> Seen<T> {
    pub(crate) fn new() -> Self {
        Seen { few: [None; FEW], many: HashSet::new() }
    }

    /// Returns whether the value is new.
    pub(crate) fn insert(&mut self, value: T) -> bool {
        for place in &mut self.few {
            match place {
                Some(seen) if *seen == value => return false,
                Some(_) => {}
                None => {
                    *place = Some(value);
                    return true;
                }
            }
        }
        self.many.insert(value)
    }

    pub(crate) fn contains(&self, value: T) -> bool {
        self.few.contains(&Some(value)) || self.many.contains(&value)
    }
}

/// The API server prints a value of a named string type as JSON, not as Go text.
pub(crate) fn named(value: &str) -> Value<'static> {
    Value::json(&value)
}

pub(crate) fn each(messages: Messages, value: &str, path: &At<'_>) {
    for message in messages {
        path.invalid(value, message);
    }
}

/// `ValidateDNS1123Label`.
pub(crate) fn label(value: &str, path: &At<'_>) {
    each(names::dns1123_label(value), value, path);
}

/// `ValidateDNS1123Subdomain`.
pub(crate) fn subdomain(value: &str, path: &At<'_>) {
    each(names::dns1123_subdomain(value), value, path);
}

/// Follows `ValidateLabelSelector` for a selector that may be absent.
pub(crate) fn label_selector(selector: Option<&LabelSelector>, path: &At<'_>) {
    if let Some(selector) = selector {
        selector::validate(selector, &|| false, path);
    }
}

pub(crate) fn required(value: &str, path: &At<'_>) {
    filled(value, |_| Messages::new(), path);
}

/// Reports `Required` for an empty value, or else what `check` finds.
pub(crate) fn filled(value: &str, check: impl Fn(&str) -> Messages, path: &At<'_>) {
    if value.is_empty() {
        path.required("");
    } else {
        each(check(value), value, path);
    }
}

pub(crate) fn secret_ref(secret: Option<&LocalObjectReference>, path: &At<'_>) {
    if let Some(secret) = secret {
        required(&secret.name, &path.child("secretRef").child("name"));
    }
}

/// Calls the visitor with each container below the pod spec at `path`.
pub(crate) fn visit(spec: &PodSpec, path: &At<'_>, visitor: &mut dyn FnMut(&Container, &At<'_>)) {
    containers::visit(spec, path.path(), &mut |container, of| visitor(container, &path.at(of)));
}

/// Follows `ValidateNonnegativeField`.
pub(crate) fn non_negative(value: Option<i32>, path: &At<'_>) {
    if let Some(value) = value.filter(|value| *value < 0) {
        path.invalid(value, names::NOT_NEGATIVE);
    }
}

/// Follows `ValidatePositiveField`.
pub(crate) fn positive(value: i32, path: &At<'_>) {
    if value <= 0 {
        path.invalid(value, "must be greater than zero");
    }
}

pub(crate) fn file_mode(value: Option<i32>, path: &At<'_>) {
    if let Some(value) = value.filter(|value| !(0..=0o777).contains(value)) {
        path.invalid(value, FILE_MODE);
    }
}

/// `IsValidUserID`, `validateUserField`.
pub(crate) fn unix_id(id: Option<i64>, path: &At<'_>) {
    if let Some(id) = id {
        for message in names::unix_id(id) {
            path.invalid(id, message);
        }
    }
}

pub(crate) fn one_of(value: Option<&str>, supported: &[&str], path: &At<'_>) {
    if let Some(value) = value.filter(|value| !supported.contains(value)) {
        path.not_supported(named(value), supported);
    }
}

/// Like [`one_of`], but reports `Required` for an empty value.
pub(crate) fn required_one_of(value: &str, supported: &[&str], path: &At<'_>) {
    if value.is_empty() {
        path.required("");
    } else {
        one_of(Some(value), supported, path);
    }
}

/// Follows `ValidateLocalNonReservedPath`.
pub(crate) fn local_path(value: &str, path: &At<'_>) {
    each(local_path_messages(value), value, path);
}

pub(crate) fn local_path_messages(value: &str) -> Messages {
    let mut messages = names::local_descending_path(value);
    if value.starts_with("..") && !value.starts_with("../") {
        messages.push("must not start with '..'");
    }
    messages
}

/// Some options depend on whether the old object is valid.
pub(crate) fn finds_nothing(rule: impl FnOnce(&At<'_>)) -> bool {
    let mut found = Findings::of(&SOME_RULE);
    rule(&found.at(&Path::new("spec")));
    found.is_empty()
}

/// Whether Kubernetes reserves a domain for itself.
pub(crate) fn is_reserved(domain: &str) -> bool {
    ["k8s.io", "kubernetes.io"].into_iter().any(|reserved| {
        let rest = domain.strip_suffix(reserved);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Follows `validatePullPolicy`.
pub(crate) fn pull_policy(policy: &str, path: &At<'_>) {
    required_one_of(policy, &["Always", "IfNotPresent", "Never"], path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_values_are_remembered() {
        let mut seen = Seen::new();
        for value in 0..100 {
            assert!(!seen.contains(value));
            assert!(seen.insert(value));
        }
        for value in 0..100 {
            assert!(seen.contains(value));
            assert!(!seen.insert(value));
        }
    }
}
