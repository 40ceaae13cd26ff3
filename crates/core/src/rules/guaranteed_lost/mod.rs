use std::mem;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "guaranteed-lost", group: Nodes, mode: Mode::Audit;
    title: "a second container makes the pod Burstable",
    summary: "a pod that would be Guaranteed, but for an init container or a sidecar",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `ComputePodQOS`, pkg/apis/core/v1/helper/qos/qos.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // The resources of the pod count instead, if it has some.
    let is_meant = spec.resources.is_none() && spec.containers.first().is_some_and(is_guaranteed);
    let mut first = true;
    visit(spec, &POD_SPEC, &mut |container, path| {
        if is_meant && !is_guaranteed(container) && mem::take(&mut first) {
            let message = format!(
                "container {:?} has no requests that equal its limits, so the pod is Burstable instead of \
                 Guaranteed: the kubelet evicts it earlier, and it gets no CPUs of its own",
                container.name
            );
            let help = "give this container too the same CPU and memory as requests and as limits, unless a LimitRange does";
            found.report(&path.child("resources"), Reason::Required, message, help);
        }
    });
}

fn is_guaranteed(container: &Container) -> bool {
    let Some(resources) = &container.resources else { return false };
    ["cpu", "memory"].into_iter().all(|name| {
        let limit = resources.limits.as_ref().and_then(|it| it.get(name));
        // A limit without a request is also the request.
        let request = resources.requests.as_ref().and_then(|it| it.get(name)).or(limit);
        let value = |text| Quantity::parse_resource(text).and_then(|it| it.thousandths());
        limit.zip(request).is_some_and(|(limit, request)| {
            value(&limit.0).is_some_and(|it| it > 0 && value(&request.0) == Some(it))
        })
    })
}
