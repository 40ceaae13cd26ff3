//! The requirements of DaemonSets and StatefulSets on a pod template, beyond a valid pod spec.

use crate::kubernetes::{
    labels::{self, MIRROR_ANNOTATION},
    names,
};
use crate::rules::prelude::*;

pub(super) const MISMATCH: &str = "`selector` does not match template `labels`";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

type Annotations = BTreeMap<String, String>;

/// An absent selector matches nothing. The caller has checked that the selector parses.
///
/// Kubernetes: `ValidateDaemonSetSpec` and `ValidatePodTemplateSpecForStatefulSet`,
/// `pkg/apis/apps/validation/validation.go`.
pub(super) fn matches(selector: Option<&LabelSelector>, template: &PodTemplateSpec, path: &At<'_>) {
    let labels = template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    if !selector.is_some_and(|selector| selector::matches_labels(selector, labels)) {
        path.child("metadata").child("labels").invalid(Value::json(&labels), MISMATCH);
    }
}

/// Uses upstream's field paths `spec.template.labels` and `spec.template.annotations`. An invalid deletion cost is
/// allowed if the old one was invalid too.
///
/// Kubernetes: `ValidatePodTemplateSpec` and `ValidatePodSpecificAnnotations`,
/// `pkg/apis/core/validation/validation.go`.
pub(super) fn metadata(template: &PodTemplateSpec, old: OldTemplate<'_>, path: &At<'_>) {
    let Some(metadata) = &template.metadata else { return };
    labels::labels(metadata.labels.as_ref(), &path.child("labels"));
    let Some(annotations) = &metadata.annotations else { return };
    let path = path.child("annotations");
    labels::annotations(Some(annotations), &path);

    if let Some(value) = annotations.get(MIRROR_ANNOTATION)
        && spec(template)
            .is_none_or(|spec| spec.node_name.as_deref().unwrap_or_default().is_empty())
    {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        path.key(MIRROR_ANNOTATION).invalid(value, detail);
    }
    let old = || old()?.metadata.as_ref()?.annotations.as_ref();
    if let Some(cost) = bad_deletion_cost(annotations)
        && old().and_then(bad_deletion_cost).is_none()
    {
        path.key(DELETION_COST).invalid(cost, "must be a 32bit integer");
    }
    profiles(template, annotations, &path);
}

/// `GetDeletionCostFromPodAnnotations`, `pkg/apis/core/helper/helpers.go`.
fn bad_deletion_cost(annotations: &Annotations) -> Option<&str> {
    let cost = annotations.get(DELETION_COST)?;
    // Upstream rejects a plus sign and leading zeros, but allows leading zeros after a minus sign.
    let first_digit =
        cost == "0" || cost.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
    (!first_digit || cost.parse::<i32>().is_err()).then_some(cost)
}

/// `ValidateSeccompPodAnnotations` and `ValidateAppArmorPodAnnotations`.
fn profiles(template: &PodTemplateSpec, annotations: &Annotations, path: &At<'_>) {
    for (key, profile) in annotations {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            seccomp(profile, &path.child(key));
        } else if let Some(container) = key.strip_prefix(APPARMOR) {
            if !spec(template).is_some_and(|spec| has_container(spec, container)) {
                path.key(key).invalid(container, "container not found");
            }
            let known = profile.is_empty()
                || profile == "runtime/default"
                || profile == "unconfined"
                || profile.starts_with("localhost/");
            if !known {
                let detail = format!("invalid AppArmor profile name: {}", Value::Str(profile));
                path.key(key).invalid(profile, detail);
            }
        }
    }
}

/// `ValidateSeccompProfile`
fn seccomp(profile: &str, path: &At<'_>) {
    if let Some(file) = profile.strip_prefix("localhost/") {
        for message in names::local_descending_path(file) {
            path.invalid(file, message);
        }
    } else if !["runtime/default", "docker/default", "unconfined"].contains(&profile) {
        path.invalid(profile, "must be a valid seccomp profile");
    }
}

fn has_container(spec: &PodSpec, name: &str) -> bool {
    spec.containers.iter().any(|container| container.name == name)
        || spec.init_containers.iter().flatten().any(|container| container.name == name)
        || spec.ephemeral_containers.iter().flatten().any(|container| container.name == name)
}

/// Fields that these workloads forbid although a pod may have them. Kubernetes: the ends of `ValidateDaemonSetSpec` and
/// `ValidateStatefulSetSpec`.
pub(super) fn restrictions(kind: WorkloadKind, template: &PodTemplateSpec, path: &At<'_>) {
    let path = path.child("spec");
    let policy = spec(template).and_then(|spec| spec.restart_policy.as_deref()).unwrap_or_default();
    if policy != "Always" {
        path.child("restartPolicy").not_supported(Value::json(&policy), &["Always"]);
    }
    if spec(template).is_some_and(|spec| spec.active_deadline_seconds.is_some()) {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        path.child("activeDeadlineSeconds").forbidden(detail);
    }
}

/// Kubernetes: the end of `ValidatePodTemplateSpec`, `pkg/apis/core/validation/validation.go`.
pub(super) fn no_ephemeral_containers(template: &PodTemplateSpec, path: &At<'_>) {
    if spec(template)
        .is_some_and(|spec| spec.ephemeral_containers.iter().flatten().next().is_some())
    {
        let detail = "ephemeral containers not allowed in pod template";
        path.below("spec.ephemeralContainers").forbidden(detail);
    }
}

pub(super) fn spec(template: &PodTemplateSpec) -> Option<&PodSpec> {
    template.spec.as_ref()
}

pub(super) type OldTemplate<'a> = &'a dyn Fn() -> Option<&'a PodTemplateSpec>;
