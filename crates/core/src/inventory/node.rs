//! A Node, and what it has for pods.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{Taint, Toleration},
    apimachinery::pkg::api::resource::Quantity,
};

use super::{labels::Labels, resources::Resources};
use crate::kubernetes::tolerations;

/// A Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) labels: Labels,
    /// The taints that keep pods away, and that do not pass without action.
    pub(crate) taints: Box<[Taint]>,
    /// The resources that all pods of the node together can request, if they are known.
    pub(crate) allocatable: Option<Box<Resources>>,
}

impl Node {
    /// Creates a node with these labels, taints and allocatable resources.
    pub(super) fn of(
        labels: Labels,
        mut taints: Vec<Taint>,
        allocatable: Option<&BTreeMap<String, Quantity>>,
    ) -> Self {
        taints.retain(|taint| taint.effect != "PreferNoSchedule" && !passes(&taint.key));
        for taint in &mut taints {
            taint.time_added = None;
        }
        let allocatable = allocatable.and_then(|list| {
            let (cpu, memory) = (Resources::read(list, "cpu")?, Resources::read(list, "memory")?);
            Some(Box::new(Resources { cpu, memory }))
        });
        Node { labels, taints: taints.into(), allocatable }
    }

    /// Returns the approximate number of bytes that the node takes.
    pub(super) fn bytes(&self) -> usize {
        let allocatable = self.allocatable.as_ref().map_or(0, |_| size_of::<Resources>());
        self.labels.bytes() + allocatable + self.taints.len() * (size_of::<Taint>() + 64)
    }

    /// Returns the first taint that none of these tolerations tolerates.
    pub(crate) fn taint_against(&self, tolerations: &[Toleration]) -> Option<&Taint> {
        let is_tolerated =
            |taint: &Taint| tolerations.iter().any(|it| tolerations::tolerates_taint(it, taint));
        self.taints.iter().find(|taint| !is_tolerated(taint))
    }
}

/// Returns whether a taint with this key comes and goes with a condition of the node, while the
/// node starts or before it is removed. Daemon pods tolerate most of these taints automatically.
fn passes(key: &str) -> bool {
    const PREFIXES: [&str; 4] = [
        "node.kubernetes.io/",
        "node.cloudprovider.kubernetes.io/",
        "karpenter.sh/",
        "ToBeDeletedByClusterAutoscaler",
    ];
    PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || key.ends_with("not-ready")
}
