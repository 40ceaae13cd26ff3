use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm};

use super::{object::pod_spec, stateful_sets::claims};
use crate::rules::prelude::*;

/// The user that the manifest gives a container.
///
/// Kubernetes: `DetermineEffectiveSecurityContext`, pkg/securitycontext/util.go.
pub(crate) fn user(container: &Container, spec: &PodSpec) -> Option<i64> {
    let own = container.security_context.as_ref().and_then(|it| it.run_as_user);
    own.or_else(|| spec.security_context.as_ref()?.run_as_user)
}

/// The volumes of a pod by name. An object may have thousands, and as many mounts.
pub(crate) fn volumes(spec: &PodSpec) -> BTreeMap<&str, &Volume> {
    // The first one of a name counts.
    list(&spec.volumes).iter().rev().map(|it| (&*it.name, it)).collect()
}

pub(crate) fn is_privileged(container: &Container) -> bool {
    container.security_context.as_ref().is_some_and(|it| it.privileged == Some(true))
}

/// Returns whether a container adds a capability, and whether it drops one.
pub(crate) fn capability(container: &Container, name: &str) -> (bool, bool) {
    let of = container.security_context.as_ref().and_then(|it| it.capabilities.as_ref());
    let is_meant = |it: &String| it == "ALL" || it.strip_prefix("CAP_").unwrap_or(it) == name;
    let has = |names: &Option<Vec<String>>| list(names).iter().any(is_meant);
    of.map_or((false, false), |it| (has(&it.add), has(&it.drop)))
}

/// The names of the pod's volumes that are claims.
pub(crate) fn claimed<'a>(spec: &'a PodSpec, object: &'a Object<'_>) -> HashSet<&'a str> {
    let templates = object.stateful_set().into_iter().flat_map(claims).map(|(name, _)| name);
    let volumes = list(&spec.volumes).iter().filter(|it| it.persistent_volume_claim.is_some());
    templates.chain(volumes.map(|it| it.name.as_str())).collect()
}

/// The required terms that keep the template's own pods apart, with their indexes.
pub(crate) fn self_anti_affinity<'a>(
    object: &'a Object<'_>,
) -> impl Iterator<Item = (usize, &'a PodAffinityTerm)> {
    let anti = affinity(object).and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = anti.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    about_itself(object, terms)
}

/// The required terms that keep the template's own pods together, with their indexes.
pub(crate) fn self_affinity<'a>(
    object: &'a Object<'_>,
) -> impl Iterator<Item = (usize, &'a PodAffinityTerm)> {
    let together = affinity(object).and_then(|affinity| affinity.pod_affinity.as_ref());
    let terms =
        together.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    about_itself(object, terms)
}

fn affinity<'a>(object: &'a Object<'_>) -> Option<&'a Affinity> {
    pod_spec(object).and_then(|spec| spec.affinity.as_ref())
}

fn about_itself<'a>(
    object: &'a Object<'_>,
    terms: Option<&'a Vec<PodAffinityTerm>>,
) -> impl Iterator<Item = (usize, &'a PodAffinityTerm)> {
    let labels = object.template().metadata.as_ref().and_then(|m| m.labels.as_ref());
    let own = object.metadata.namespace();
    terms.into_iter().flatten().enumerate().filter(move |(_, term)| {
        let named = term.namespaces.as_deref().unwrap_or_default();
        let here = match &term.namespace_selector {
            Some(selector) if selector::is_empty(selector) => true,
            None if named.is_empty() => true,
            _ => named.iter().any(|name| name == own),
        };
        let differ = term.mismatch_label_keys.iter().flatten();
        let differ = differ.into_iter().any(|key| labels.is_some_and(|l| l.contains_key(key)));
        let selector = term.label_selector.as_ref().filter(|selector| selector::parses(selector));
        here && !differ && selector.is_some_and(|s| selector::matches_labels(s, labels))
    })
}
