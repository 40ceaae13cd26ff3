//! The nodes that a DaemonSet's pods run on.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, NodeSelectorTerm, PodTemplateSpec, Taint, Toleration};
use serde::Deserialize;

use crate::kubernetes::{
    node_selector,
    taints::written,
    tolerations::{self, of_daemons},
};

/// The fields of a pod spec that decide which nodes a DaemonSet's pods run on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placing {
    node_name: Option<String>,
    node_selector: Option<BTreeMap<String, String>>,
    affinity: Option<Affinity>,
    tolerations: Option<Vec<Toleration>>,
    host_network: Option<bool>,
}

impl Placing {
    /// Reads these fields from a pod template.
    pub fn of(template: &PodTemplateSpec) -> Self {
        let Some(spec) = &template.spec else { return Placing::default() };
        Placing {
            node_name: spec.node_name.clone(),
            node_selector: spec.node_selector.clone(),
            affinity: spec.affinity.clone(),
            tolerations: spec.tolerations.clone(),
            host_network: spec.host_network,
        }
    }

    fn meets_affinity(&self, node: &NodeInfo) -> bool {
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        let meets = |term: &_| node_selector::matches(term, &node.name, label);
        let terms = node_selector::required_terms(self.affinity.as_ref());
        terms.is_none_or(|terms| terms.iter().any(meets))
    }

    /// Returns what happens to pods with an old template on nodes that this new one may leave.
    pub fn leaving(&self, old: &Placing) -> Vec<&'static str> {
        let has = |all: &[NodeSelectorTerm], it: &NodeSelectorTerm| all.contains(it);
        let old_terms = node_selector::required_terms(old.affinity.as_ref());
        let keeps_affinity = node_selector::required_terms(self.affinity.as_ref())
            .is_none_or(|new| old_terms.is_some_and(|old| old.iter().all(|it| has(new, it))));
        let old_labels = old.node_selector.as_ref();
        let mut labels = self.node_selector.iter().flatten();
        let keeps_labels =
            labels.all(|(key, value)| old_labels.and_then(|it| it.get(key)) == Some(value));
        let keeps_name = self.node_name.is_none() || self.node_name == old.node_name;
        let tolerated = self.tolerations.as_deref().unwrap_or_default();
        let keeps_taints = old.tolerations.iter().flatten().all(|it| tolerated.contains(it));
        let selects = !(keeps_affinity && keeps_labels && keeps_name);
        let selects = selects.then_some(
            "on nodes that the new template does not select, pods are deleted at once and not replaced",
        );
        let tolerates = (!keeps_taints).then_some(
            "on nodes with a taint that the new template does not tolerate, no new pod starts",
        );
        selects.into_iter().chain(tolerates).collect()
    }

    /// Returns whether the pod spec lists tolerations.
    pub const fn has_tolerations(&self) -> bool {
        self.tolerations.is_some()
    }
}

/// The fields of a node that the controller reads.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
}

/// Whether a node gets a DaemonSet's pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The node gets a pod.
    Runs,
    /// The node gets no pod but keeps an existing one: a taint keeps only new pods away.
    Keeps(WhyNot),
    /// The node gets no pod and loses an existing one.
    Loses(WhyNot),
}

/// Why a node gets no pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyNot {
    /// The template names a different node.
    NodeName(String),
    /// The first label that the pod requires and the node lacks.
    NodeSelector(String, String),
    /// The node does not meet the node affinity.
    Affinity,
    /// A taint (`key=value:effect`) that the pods do not tolerate.
    Taint(String),
    /// The node does not exist.
    Gone,
}

/// Returns all reasons why a node's labels and taints keep a pod away. The only tolerations are the template's.
///
/// Kubernetes: `Filter`, pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go and
/// plugins/tainttoleration/taint_toleration.go.
pub fn reasons(pod: &Placing, node: &NodeInfo) -> Vec<WhyNot> {
    let labels = pod.node_selector.iter().flatten();
    let missing = labels.filter(|(key, value)| node.labels.get(*key) != Some(value));
    let missing = missing.map(|(key, value)| WhyNot::NodeSelector(key.clone(), value.clone()));
    let affinity = (!pod.meets_affinity(node)).then_some(WhyNot::Affinity);
    let own: Vec<&Toleration> = pod.tolerations.iter().flatten().collect();
    let keeps_away = |taint: &&Taint| {
        ["NoSchedule", "NoExecute"].contains(&taint.effect.as_str())
            && !own.iter().any(|it| tolerations::tolerates_taint(it, taint))
    };
    let mut taints: Vec<&Taint> = node.taints.iter().filter(keeps_away).collect();
    // A node that is down has each of its taints twice, with different effects.
    taints.dedup_by_key(|taint| &taint.key);
    let taints = taints.into_iter().map(|taint| WhyNot::Taint(written(taint)));
    missing.chain(affinity).chain(taints).collect()
}

/// Returns the placement of a DaemonSet's pods on each node.
pub fn placements<'a>(
    pod: &Placing,
    nodes: impl IntoIterator<Item = &'a NodeInfo>,
) -> Vec<Placement> {
    let own = pod.tolerations.iter().flatten().cloned();
    let tolerations: Vec<_> = own.chain(of_daemons(pod.host_network == Some(true))).collect();
    nodes.into_iter().map(|node| placement(pod, &tolerations, node)).collect()
}

/// Kubernetes: `NodeShouldRunDaemonPod` and `predicates`, pkg/controller/daemon/daemon_controller.go.
fn placement(pod: &Placing, tolerations: &[Toleration], node: &NodeInfo) -> Placement {
    let named = pod.node_name.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = named.filter(|name| *name != node.name) {
        return Placement::Loses(WhyNot::NodeName(name.to_owned()));
    }
    let missing = |(key, value): &(&String, &String)| node.labels.get(*key) != Some(value);
    if let Some((key, value)) = pod.node_selector.iter().flatten().find(missing) {
        return Placement::Loses(WhyNot::NodeSelector(key.clone(), value.clone()));
    }
    if !pod.meets_affinity(node) {
        return Placement::Loses(WhyNot::Affinity);
    }
    let hurts = |effects: &[&str]| {
        let mut taints = node.taints.iter().filter(|it| effects.contains(&it.effect.as_str()));
        taints.find(|taint| !tolerations.iter().any(|it| tolerations::tolerates_taint(it, taint)))
    };
    match (hurts(&["NoExecute"]), hurts(&["NoSchedule", "NoExecute"])) {
        (_, None) => Placement::Runs,
        (None, Some(taint)) => Placement::Keeps(WhyNot::Taint(written(taint))),
        (Some(taint), _) => Placement::Loses(WhyNot::Taint(written(taint))),
    }
}
