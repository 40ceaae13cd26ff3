use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::pod::{CreatedPod, REFUSED};
use crate::validation::prelude::*;
use crate::{
    finding::Finding,
    validation::pod::{
        consistency::{self, aggregate},
        resources::ResourceList,
    },
};

/// `validatePodResources`, after `SetDefaults_Pod`, pkg/apis/core/v1/defaults.go. Pods with such resources are rare, so
/// copying them is cheap enough.
pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    let Some(given) = &pod.spec.resources else { return };
    // Validation of the template rejects any pod-level resources of a Windows pod.
    let windows = pod.spec.os.as_ref().is_some_and(|os| os.name == "windows");
    if windows || !pod.cluster.enabled("PodLevelResources") {
        return;
    }
    let opts = Options::of(pod.spec, None, pod.cluster);
    let volumes = Volumes::default();
    let mut faults = |spec: &PodSpec| {
        let before = found.checkpoint();
        let cx = PodContext::of(spec, &opts, &volumes, &[]);
        consistency::validate(spec, &cx, &found.at(&POD_SPEC));
        found.rewind(before)
    };
    let of_template = faults(pod.spec);
    let mut of_pod = faults(&with_defaults(pod.spec, given));
    of_pod.retain(|fault| !of_template.contains(fault));
    let help = "a limit without a request counts as a request: set the requests so that they fit";
    found.quote(REFUSED, help, |found| {
        // The field with the fault may exist only in the pod.
        let field = POD_SPEC.child("resources").to_field();
        for fault in of_pod {
            found.add(|_| Finding { field: field.clone(), ..fault });
        }
    });
}

/// The copy has only the CPU and memory of `spec`.
fn with_defaults(spec: &PodSpec, given: &ResourceRequirements) -> PodSpec {
    let container = |it: &Container| {
        let mut resources = it.resources.as_ref().map(overcommittable).unwrap_or_default();
        for (name, limit) in resources.limits.clone().unwrap_or_default() {
            resources.requests.get_or_insert_default().entry(name).or_insert(limit);
        }
        let restart_policy = it.restart_policy.clone();
        Container { restart_policy, resources: Some(resources), ..Container::default() }
    };
    let mut pod = PodSpec {
        containers: spec.containers.iter().map(container).collect(),
        init_containers: Some(list(&spec.init_containers).iter().map(container).collect()),
        ..PodSpec::default()
    };
    let mut resources = overcommittable(given);
    default_requests(&mut resources, &pod);
    pod.resources = Some(resources);
    pod
}

/// Without huge pages: their requests equal their limits, and validation of the template compares the limits.
fn overcommittable(all: &ResourceRequirements) -> ResourceRequirements {
    let some = |list: &Option<ResourceList>| {
        let list = list.iter().flatten();
        let list = list.filter(|(name, _)| *name == "cpu" || *name == "memory");
        Some(list.map(|(name, amount)| (name.clone(), amount.clone())).collect())
    };
    ResourceRequirements {
        requests: some(&all.requests),
        limits: some(&all.limits),
        ..ResourceRequirements::default()
    }
}

/// Follows `defaultPodRequests`.
fn default_requests(resources: &mut ResourceRequirements, pod: &PodSpec) {
    let limits = resources.limits.clone().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let requests = resources.requests.get_or_insert_default();
    for (name, request) in aggregate(pod, |it| it.requests.as_ref()) {
        let request = || Quantity(request.to_text().into_owned());
        requests.entry(name.to_owned()).or_insert_with(request);
    }
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
}
