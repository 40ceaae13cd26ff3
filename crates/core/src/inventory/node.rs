use k8s_openapi::api::core::v1::{Taint, Toleration};

use super::resources::Resources;
use crate::inventory::prelude::*;
use crate::kubernetes::{taints::is_transient, tolerations};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) labels: Labels,
    /// The taints that repel pods and do not disappear by themselves.
    pub(crate) taints: Box<[Taint]>,
    /// The resources that all pods of the node together may request, if known.
    pub(crate) allocatable: Option<Box<Resources>>,
}

impl Node {
    pub(super) fn of(
        labels: Labels,
        mut taints: Vec<Taint>,
        allocatable: Option<&BTreeMap<String, Quantity>>,
    ) -> Self {
        taints.retain(|taint| taint.effect != "PreferNoSchedule" && !is_transient(&taint.key));
        for taint in &mut taints {
            taint.time_added = None;
        }
        let allocatable = allocatable.and_then(|list| {
            let (cpu, memory) = (Resources::read(list, "cpu")?, Resources::read(list, "memory")?);
            Some(Box::new(Resources { cpu, memory }))
        });
        Node { labels, taints: taints.into(), allocatable }
    }

    pub(super) fn bytes(&self) -> usize {
        let allocatable = self.allocatable.as_ref().map_or(0, |_| size_of::<Resources>());
        self.labels.bytes() + allocatable + self.taints.len() * (size_of::<Taint>() + 64)
    }

    pub(crate) fn taint_against(&self, tolerations: &[Toleration]) -> Option<&Taint> {
        let is_tolerated =
            |taint: &Taint| tolerations.iter().any(|it| tolerations::tolerates_taint(it, taint));
        self.taints.iter().find(|taint| !is_tolerated(taint))
    }
}
