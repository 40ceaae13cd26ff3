use super::pod::{CreatedPod, REFUSED};
use crate::kubernetes::containers;
use crate::validation::prelude::*;

/// In every cluster, with their priorities. Kubernetes: `SystemPriorityClasses`, pkg/apis/scheduling/v1/helpers.go.
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
/// The policy of a pod without a class, and of the system's classes.
const PREEMPTS: &str = "PreemptLowerPriority";

pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    priority(pod.spec, found);
    overhead(pod.spec, found);
    mirror(pod, found);
}

/// `admitPod`, plugin/pkg/admission/priority/admission.go.
fn priority(spec: &PodSpec, found: &mut Findings) {
    if spec.priority.is_none() && spec.preemption_policy.is_none() {
        return;
    }
    let class = text(&spec.priority_class_name);
    let known =
        SYSTEM_CLASSES.iter().find(|(name, _)| *name == class).map(|(_, priority)| *priority);
    // Other classes are unknown here.
    let Some(computed) = known.or(class.is_empty().then_some(0)) else { return };
    let help = "leave it out, and set priorityClassName to a PriorityClass that has it";
    found.quote(REFUSED, help, |found| {
        if let Some(priority) = spec.priority.filter(|priority| *priority != computed) {
            let detail = format!(
                "the integer value of priority ({priority}) must not be provided in pod spec; \
                 priority admission controller computed {computed} from the given PriorityClass \
                 name"
            );
            found.at(&POD_SPEC.child("priority")).forbidden(detail);
        }
        if let Some(policy) = spec.preemption_policy.as_deref().filter(|policy| *policy == "Never")
        {
            let detail = format!(
                "the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; \
                 priority admission controller computed {PREEMPTS} from the given PriorityClass \
                 name"
            );
            found.at(&POD_SPEC.child("preemptionPolicy")).forbidden(detail);
        }
    });
}

/// `validateOverhead`, plugin/pkg/admission/runtimeclass/admission.go.
fn overhead(spec: &PodSpec, found: &mut Findings) {
    let is_set = spec.overhead.as_ref().is_some_and(|overhead| !overhead.is_empty());
    if is_set && spec.runtime_class_name.is_none() {
        let help = "leave it out, and set runtimeClassName to a RuntimeClass that has it";
        found.quote(REFUSED, help, |found| {
            let detail = "Pod Overhead set without corresponding RuntimeClass defined Overhead";
            found.at(&POD_SPEC.child("overhead")).forbidden(detail);
        });
    }
}

/// References that a mirror pod must not have: `Plugin.Validate`, plugin/pkg/admission/serviceaccount/admission.go, and
/// `validatePodResourceClaim`. Validation of the template reports a mirror pod without nodeName.
fn mirror(pod: &CreatedPod<'_>, found: &mut Findings) {
    let spec = pod.spec;
    if !pod.is_mirror() || text(&spec.node_name).is_empty() {
        return;
    }
    let help = "leave out the annotation kubernetes.io/config.mirror, which only kubelets set";
    found.quote(REFUSED, help, |found| {
        let account = ("serviceAccountName", &spec.service_account_name);
        let accounts = [account, ("serviceAccount", &spec.service_account)];
        if let Some((field, _)) = accounts.into_iter().find(|(_, name)| !text(name).is_empty()) {
            let detail = "a mirror pod may not reference service accounts";
            found.at(&POD_SPEC.child(field)).forbidden(detail);
        }
        if names_secret(pod) {
            found.at(&POD_SPEC).forbidden("a mirror pod may not reference secrets");
        }
        let mut sources = pod.volumes().filter_map(|(_, volume)| volume.projected.as_ref());
        if sources.any(|it| list(&it.sources).iter().any(|it| it.service_account_token.is_some())) {
            let detail = "a mirror pod may not use ServiceAccountToken volume projections";
            found.at(&POD_SPEC.child("volumes")).forbidden(detail);
        }
        let claims = list(&spec.resource_claims);
        if !claims.is_empty() && pod.cluster.enabled("DynamicResourceAllocation") {
            let detail = "static pods do not support resource claims";
            found.at(&POD_SPEC.child("resourceClaims")).forbidden(detail);
        }
    });
}

/// Follows `VisitPodSecretNames`, pkg/api/pod/util.go. Empty names are ignored.
fn names_secret(pod: &CreatedPod<'_>) -> bool {
    let of_container = |container: &Container| {
        let from = list(&container.env_from).iter().filter_map(|from| from.secret_ref.as_ref());
        let env = list(&container.env).iter().filter_map(|env| env.value_from.as_ref());
        let keys = env.filter_map(|source| source.secret_key_ref.as_ref());
        from.map(|it| &it.name).chain(keys.map(|it| &it.name)).any(|name| !name.is_empty())
    };
    list(&pod.spec.image_pull_secrets).iter().any(|secret| !secret.name.is_empty())
        || containers::containers(pod.spec).any(of_container)
        || pod.volumes().any(|(_, volume)| volume_names_secret(volume))
}

/// A volume has one source; validation of the template reports any other.
fn volume_names_secret(volume: &Volume) -> bool {
    let names = [
        volume.azure_file.as_ref().map(|it| it.secret_name.as_str()),
        volume.cephfs.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.cinder.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.flex_volume.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.rbd.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.secret.as_ref().and_then(|it| it.secret_name.as_deref()),
        volume.scale_io.as_ref().map(|it| it.secret_ref.name.as_str()),
        volume.iscsi.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.storageos.as_ref().and_then(|it| Some(it.secret_ref.as_ref()?.name.as_str())),
        volume.csi.as_ref().and_then(|it| Some(it.node_publish_secret_ref.as_ref()?.name.as_str())),
    ];
    let projected = volume.projected.iter().flat_map(|it| list(&it.sources));
    let projected = projected.filter_map(|it| Some(it.secret.as_ref()?.name.as_str()));
    names.into_iter().flatten().chain(projected).any(|name| !name.is_empty())
}
