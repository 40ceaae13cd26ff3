use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "utilization-without-request", group: Rollout;
    title: "the autoscaler has no request to compare with",
    summary: "an autoscaler by utilization, and a container without the request",
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Manifest, check }],
};

/// Kubernetes: `calculatePodRequestsFromContainers`, pkg/controller/podautoscaler/replica_calculator.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let (set, kind) = (query.item, Kind::HorizontalPodAutoscaler);
    let Some((other, autoscaler)) = query.inventory().autoscaler(kind, set) else { return };
    // Its defaults may add the request.
    if query.inventory().has_any(Kind::LimitRange, set.namespace()) {
        return;
    }
    for (resource, container) in &autoscaler.by_use {
        let counts = |it: &&Demand| container.as_ref().is_none_or(|name| *name == it.container);
        let mut counted = query.details.demand.iter().filter(|it| !it.is_init).filter(counts);
        let Some(lacks) = counted.find(|it| !it.requests.contains_key(&**resource)) else {
            continue;
        };
        let message = format!(
            "container {:?} requests no {resource}, so {other} can't compute the utilization and doesn't scale by it",
            lacks.container
        );
        let help = match container {
            Some(_) => format!("add a request for {resource}"),
            None => format!(
                "add a request for {resource} to each container, or measure one with ContainerResource"
            ),
        };
        found.via(kind, lacks.field.clone(), Reason::Required, message, help);
    }
}
