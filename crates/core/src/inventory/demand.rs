//! The resources that the containers and claims of a set ask for.

use k8s_openapi::api::core::v1::ResourceRequirements;

use crate::inventory::prelude::*;

/// Amounts by the names of their resources.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The resources of a container.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand {
    pub(crate) container: Box<str>,
    pub(crate) is_init: bool,
    /// As the API server completes them from the limits.
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
    /// The resources, or the container if it sets none.
    pub(crate) field: Field,
}

impl Demand {
    /// Returns the resources of each container; nothing if the pod sets its resources as a whole, because that changes
    /// all limits.
    pub(crate) fn all(pod: &PodSpec) -> Box<[Self]> {
        if pod.resources.is_some() {
            return Box::default();
        }
        let (mut all, none) = (Vec::new(), ResourceRequirements::default());
        visit(pod, &POD_SPEC, &mut |container, path| {
            let resources = path.child("resources");
            let own = container.resources.as_ref();
            let field = if own.is_some() { &resources } else { path };
            let ResourceRequirements { requests, limits, .. } = own.unwrap_or(&none);
            let limits = limits.clone().unwrap_or_default();
            let mut both = limits.clone();
            both.extend(requests.clone().unwrap_or_default());
            let container_name = container.name.as_str();
            all.push(Demand {
                container: container_name.into(),
                is_init: false,
                requests: both,
                limits,
                field: field.to_field(),
            });
        });
        let inits = pod.init_containers.as_ref().map_or(0, Vec::len);
        all.iter_mut().take(inits).for_each(|it| it.is_init = true);
        all.into()
    }
}
