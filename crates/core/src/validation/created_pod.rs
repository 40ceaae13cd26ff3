//! Faults in a pod template that the API server accepts there, but not in the pods made from it.
//!
//! A controller that creates a pod from a template sets the name, labels and owner, and for a
//! StatefulSet the hostname, the subdomain and the volumes of claims. Each function here handles
//! one difference between `ValidatePodTemplateSpec` for the template and what happens to such a pod
//! on its way into the store:
//!
//! | difference | Kubernetes |
//! |---|---|
//! | admission plugins that are on by default | Priority, RuntimeClass and ServiceAccount in `plugin/pkg/admission` ([`admission`], [`token`]) |
//! | defaults that only a pod gets | `SetDefaults_Pod` in `pkg/apis/core/v1/defaults.go` ([`ports`], [`resources`]) |
//! | changes before validation | `mutatePodAffinity` and `mutateTopologySpreadConstraints` in `pkg/registry/core/pod/strategy.go` ([`label_keys`]) |
//! | validation of the metadata | `ValidateObjectMeta`, which `validatePodMetadataAndSpec` calls |
//! | validation of images | `validateContainersOnlyForPod` |
//! | validation that knows that it is a pod | `PodValidationOptions.ResourceIsPod` in `validateImageVolumeSource` |
//! | validation that knows the pod's name and annotations | `ValidateVolumes`, `validatePodResourceClaim` |
//! | validation of a new pod | `ValidatePodCreate` |
//! | releases that do not validate the template of a StatefulSet | `ValidateStatefulSetSpec` before 1.34 |
//!
//! Functions without a file are in `pkg/apis/core/validation/validation.go`. Errors that validation
//! of the template reports are not repeated.

mod admission;
mod ephemeral;
mod label_keys;
mod pod;
mod ports;
mod resources;
mod token;

use self::pod::{CreatedPod, REFUSED};
use super::{object_meta, pod_template};
use crate::validation::prelude::*;

pub(crate) fn validate(object: &Object<'_>, cluster: &Cluster, found: &mut Findings) {
    finalizers(object, found);
    let Some(spec) = &object.template().spec else { return };
    let pod = &CreatedPod { object, spec, cluster, claims: Default::default() };
    admission::validate(pod, found);
    token::validate(pod, found);
    whole_template(pod, found);
    image_volumes(pod, found);
    ephemeral::validate(pod, found);
    ports::validate(pod, found);
    resources::validate(pod, found);
    label_keys::validate(pod, found);
    images(pod, found);
    node_name(pod, found);
}

/// Follows `ValidateObjectMeta`. A template's finalizers are not validated. The controller sets the rest of the
/// metadata except labels and annotations.
fn finalizers(object: &Object<'_>, found: &mut Findings) {
    let metadata = object.template().metadata.as_ref();
    let Some(all) = metadata.and_then(|metadata| metadata.finalizers.as_deref()) else { return };
    found.quote(REFUSED, "leave the finalizers out of the template", |found| {
        object_meta::each_finalizer(all, &found.at(&TEMPLATE.below("metadata.finalizers")));
    });
}

/// For releases whose API server does not validate the template of a StatefulSet.
fn whole_template(pod: &CreatedPod<'_>, found: &mut Findings) {
    let Some(set) = pod.stateful_set() else { return };
    if pod.cluster.has(since::STATEFUL_SET_TEMPLATE_VALIDATED) {
        return;
    }
    let help = "before 1.34 the API server accepts this in a StatefulSet, but never in a pod";
    found.quote(REFUSED, help, |found| {
        let claims = list(&set.volume_claim_templates);
        let (template, old) = (&set.template, &|| None);
        pod_template::validate_of_stateful_set(template, claims, pod.cluster, old, found);
        if !list(&pod.spec.ephemeral_containers).is_empty() {
            found.at(&POD_SPEC.child("ephemeralContainers")).forbidden("cannot be set on create");
        }
    });
}

/// Follows `validateImageVolumeSource` for a pod.
fn image_volumes(pod: &CreatedPod<'_>, found: &mut Findings) {
    let lacks_reference = |volume: &Volume| {
        volume.image.as_ref().is_some_and(|image| text(&image.reference).is_empty())
    };
    // From 1.37 on, validation of the template reports this, and also a volume without a source if the feature is off.
    let all = list(&pod.spec.volumes);
    let reported = pod.cluster.has(since::IMAGE_REFERENCE_REQUIRED);
    if reported || !all.iter().any(lacks_reference) || !pod.cluster.enabled("ImageVolume") {
        return;
    }
    found.quote(REFUSED, "name the image", |found| {
        for (i, _) in pod.volumes().filter(|(_, volume)| lacks_reference(volume)) {
            found.at(&VOLUMES.index(i).child("image")).required("reference is missing");
        }
    });
}

/// Follows `validateContainersOnlyForPod`.
fn images(pod: &CreatedPod<'_>, found: &mut Findings) {
    found.quote(REFUSED, "remove the whitespace", |found| {
        visit(pod.spec, &found.at(&POD_SPEC), &mut |container, path| {
            let image = text(&container.image);
            if image.trim().len() != image.len() {
                path.child("image").invalid(image, "must not have leading or trailing whitespace");
            }
        });
    });
}

/// `ValidatePodCreate` rejects pods with both a node and scheduling gates.
pub(crate) fn is_bound_and_gated(spec: &PodSpec) -> bool {
    !text(&spec.node_name).is_empty() && !list(&spec.scheduling_gates).is_empty()
}

fn node_name(pod: &CreatedPod<'_>, found: &mut Findings) {
    if is_bound_and_gated(pod.spec) {
        found.quote(REFUSED, "leave out nodeName, or the schedulingGates", |found| {
            let detail = "cannot be set until all schedulingGates have been cleared";
            found.at(&POD_SPEC.child("nodeName")).forbidden(detail);
        });
    }
}
