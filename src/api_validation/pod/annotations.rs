//! Annotations of the template that mean something to the pod.
//!
//! Kubernetes: `ValidatePodSpecificAnnotations` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, Toleration};

use super::{
    options::{Options, containers},
    tolerations,
    util::{each, list, text},
};
use crate::{
    api_validation::names,
    cluster::Cluster,
    field::Path,
    finding::{Findings, Value},
};

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// `ValidatePodSpecificAnnotations`. `path` is the annotations'.
pub(crate) fn validate(
    annotations: &BTreeMap<String, String>,
    spec: &PodSpec,
    opts: &Options,
    cluster: &Cluster,
    path: &Path<'_>,
    found: &mut Findings,
) {
    if let Some(value) = annotations.get(MIRROR)
        && text(&spec.node_name).is_empty()
    {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        found.invalid(&path.key(MIRROR), value, why);
    }
    if let Some(value) = annotations.get(TOLERATIONS).filter(|value| !value.is_empty()) {
        match serde_json::from_str::<Option<Vec<Toleration>>>(value) {
            Ok(all) => {
                let path = path.child(TOLERATIONS);
                tolerations::validate(&all.unwrap_or_default(), opts, &path, found);
            }
            // Go's words for the fault cannot be known here.
            Err(error) => found.invalid(path, TOLERATIONS, error),
        }
    }
    if let Some(cost) = annotations.get(DELETION_COST)
        && cluster.enabled("PodDeletionCost")
        && !is_deletion_cost(cost)
    {
        found.invalid(&path.key(DELETION_COST), cost, "must be a 32bit integer");
    }
    if let Some(profile) = annotations.get(SECCOMP_POD) {
        seccomp(profile, &path.child(SECCOMP_POD), found);
    }
    for (key, profile) in annotations {
        if key.starts_with(SECCOMP_CONTAINER) {
            seccomp(profile, &path.child(key), found);
        } else if let Some(container) = key.strip_prefix(APP_ARMOR) {
            app_armor(profile, container, spec, &path.key(key), found);
        }
    }
}

/// `GetDeletionCostFromPodAnnotations`: no plus sign, no leading zero.
pub(crate) fn is_deletion_cost(cost: &str) -> bool {
    let first = cost == "0" || cost.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    first && cost.parse::<i32>().is_ok()
}

/// `ValidateSeccompProfile`.
fn seccomp(profile: &str, path: &Path<'_>, found: &mut Findings) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix("localhost/") {
        Some(local) => each(names::local_descending_path(local), local, path, found),
        None => found.invalid(path, profile, "must be a valid seccomp profile"),
    }
}

/// `ValidateAppArmorPodAnnotations`.
fn app_armor(
    profile: &str,
    container: &str,
    spec: &PodSpec,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let ephemeral = list(&spec.ephemeral_containers);
    if !containers(spec).any(|c| c.name == container)
        && !ephemeral.iter().any(|c| c.name == container)
    {
        found.invalid(path, container, "container not found");
    }
    if !matches!(profile, "" | "runtime/default" | "unconfined")
        && !profile.starts_with("localhost/")
    {
        let why = format!("invalid AppArmor profile name: {}", Value::Str(profile));
        found.invalid(path, profile, why);
    }
}
