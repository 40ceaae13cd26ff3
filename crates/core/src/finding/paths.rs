//! The paths that many rules start from.

use kube_yaml::Path;

/// `metadata`
pub static METADATA: Path<'static> = Path::new("metadata");
/// `metadata.annotations`
pub static ANNOTATIONS: Path<'static> = METADATA.child("annotations");
/// `metadata.finalizers`
pub static FINALIZERS: Path<'static> = METADATA.child("finalizers");
/// `status`
pub static STATUS: Path<'static> = Path::new("status");
/// `spec`
pub static SPEC: Path<'static> = Path::new("spec");
/// `spec.selector`
pub static SELECTOR: Path<'static> = SPEC.child("selector");
/// `spec.updateStrategy`
pub static UPDATE_STRATEGY: Path<'static> = SPEC.child("updateStrategy");
/// `spec.updateStrategy.rollingUpdate`
pub static ROLLING_UPDATE: Path<'static> = UPDATE_STRATEGY.child("rollingUpdate");
/// `spec.volumeClaimTemplates`
pub static CLAIM_TEMPLATES: Path<'static> = SPEC.child("volumeClaimTemplates");
/// `spec.template`
pub static TEMPLATE: Path<'static> = SPEC.child("template");
/// `spec.template.metadata.labels`
pub static TEMPLATE_LABELS: Path<'static> = TEMPLATE_METADATA.child("labels");
static TEMPLATE_METADATA: Path<'static> = TEMPLATE.child("metadata");
/// `spec.template.spec`
pub static POD_SPEC: Path<'static> = TEMPLATE.child("spec");
/// The terms of a required node affinity.
pub static NODE_TERMS: Path<'static> = POD_SPEC.below(
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
);
/// `spec.template.spec.containers`
pub static CONTAINERS: Path<'static> = POD_SPEC.child("containers");
/// `spec.template.spec.tolerations`
pub static TOLERATIONS: Path<'static> = POD_SPEC.child("tolerations");
/// `spec.template.spec.volumes`
pub static VOLUMES: Path<'static> = POD_SPEC.child("volumes");
