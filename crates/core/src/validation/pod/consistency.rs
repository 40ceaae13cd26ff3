//! Compares the resources of the pod as a whole with its containers'.

use std::cmp::Ordering;

use super::resources::{self, Of, ResourceList, is_huge_page};
use crate::validation::prelude::*;

pub(crate) type Sums<'a> = BTreeMap<&'a str, Quantity<'a>>;

/// Follows `validatePodResources`.
pub(crate) fn validate(spec: &PodSpec, cx: &PodContext<'_>, path: &At<'_>) {
    let Some(resources) = &spec.resources else { return };
    let path = path.child("resources");
    if spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        path.forbidden("may not be set for a windows pod");
        return;
    }
    if resources.claims.is_some() {
        path.child("claims").forbidden("claims may not be set for Resources at pod-level");
    }
    resources::validate(resources, Of::Pod, cx, &path);
    consistency(spec, resources, &path);
}

/// Follows `validatePodResourceConsistency`.
fn consistency(spec: &PodSpec, resources: &ResourceRequirements, path: &At<'_>) {
    type Amounts = fn(&ResourceRequirements) -> Option<&ResourceList>;
    type List = (&'static str, Amounts, fn(&str) -> bool);
    let lists: [List; 2] = [
        ("requests", |r| r.requests.as_ref(), |_| true),
        ("limits", |r| r.limits.as_ref(), is_huge_page),
    ];
    for (list, of, is_compared) in lists {
        let path = path.child(list);
        for (name, sum) in aggregate(spec, of).into_iter().filter(|it| is_compared(it.0)) {
            if let Some(given) = get(of(resources), name)
                && sum.cmp(&given) == Ordering::Greater
            {
                let why = format!(
                    "must be greater than or equal to aggregate container {list} of {}",
                    sum.to_text()
                );
                path.key(name).invalid(&*given.to_text(), why);
            }
        }
    }
    for (i, container) in spec.containers.iter().enumerate() {
        let given = container.resources.as_ref().and_then(|r| r.limits.as_ref());
        for (name, limit) in given.into_iter().flatten() {
            if let Some(limit) = Quantity::parse_resource(&limit.0)
                && let Some(pod) = get(resources.limits.as_ref(), name)
                && limit.cmp(&pod) == Ordering::Greater
            {
                // The path is upstream's. No field of the object has it.
                let at = path.item("containers", i);
                let at = at.key(name);
                let why = format!("must be less than or equal to pod limits of {}", pod.to_text());
                at.child("limits").invalid(&*limit.to_text(), why);
            }
        }
    }
}

fn get<'a>(list: Option<&'a ResourceList>, name: &str) -> Option<Quantity<'a>> {
    Quantity::parse_resource(&list?.get(name)?.0)
}

/// `AggregateContainerRequests`, `staging/src/k8s.io/component-helpers/resource/helpers.go`: a sidecar runs alongside
/// every container that starts after it; other init containers run one by one.
pub(crate) fn aggregate(
    spec: &PodSpec,
    of: fn(&ResourceRequirements) -> Option<&ResourceList>,
) -> Sums<'_> {
    let mut total = Sums::new();
    for container in &spec.containers {
        add(&mut total, of_container(container, of));
    }
    let (mut sidecars, mut most) = (Sums::new(), Sums::new());
    for container in list(&spec.init_containers) {
        let mut now;
        if is_sidecar(container) {
            add(&mut total, of_container(container, of));
            add(&mut sidecars, of_container(container, of));
            now = sidecars.clone();
        } else {
            now = Sums::new();
            add(&mut now, of_container(container, of));
            add(&mut now, sidecars.iter().map(|(name, value)| (*name, value.clone())));
        }
        max(&mut most, now);
    }
    max(&mut total, most);
    total
}

fn of_container(
    container: &Container,
    of: fn(&ResourceRequirements) -> Option<&ResourceList>,
) -> impl Iterator<Item = (&str, Quantity<'_>)> {
    let list = container.resources.as_ref().and_then(of);
    list.into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), Quantity::parse_resource(&value.0)?)))
}

fn add<'a>(sums: &mut Sums<'a>, list: impl Iterator<Item = (&'a str, Quantity<'a>)>) {
    for (name, value) in list {
        match sums.get_mut(name) {
            Some(sum) => sum.add(&value),
            None => {
                sums.insert(name, value);
            }
        }
    }
}

fn max<'a>(sums: &mut Sums<'a>, list: Sums<'a>) {
    for (name, value) in list {
        let less = sums.get(name).is_none_or(|sum| value.cmp(sum) == Ordering::Greater);
        if less {
            sums.insert(name, value);
        }
    }
}
