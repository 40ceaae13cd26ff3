//! The traffic that the network lets through: NetworkPolicies, and what pods send and receive.

use k8s_openapi::{
    api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use super::{hosts, object_summary::NamedPort};
use crate::inventory::prelude::*;
use crate::kubernetes::loopback::on_loopback;

/// The specification of a NetworkPolicy.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrafficPolicy {
    pub(crate) pod_selector: LabelSelector,
    policy_types: Option<Vec<String>>,
    ingress: Option<Vec<TrafficRule>>,
    egress: Option<Vec<TrafficRule>>,
}

/// The traffic that a NetworkPolicy allows.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct TrafficRule {
    #[serde(alias = "to")]
    pub(crate) from: Option<Vec<NetworkPolicyPeer>>,
    pub(crate) ports: Option<Vec<NetworkPolicyPort>>,
}

impl TrafficPolicy {
    /// Returns the allowed traffic in a direction, `Ingress` or `Egress`; `None` if all traffic is allowed.
    ///
    /// Kubernetes: `SetDefaults_NetworkPolicy`, pkg/apis/networking/v1/defaults.go.
    pub(crate) fn allowed(&self, direction: &str) -> Option<&[TrafficRule]> {
        let is_ingress = direction == "Ingress";
        let rules = list(if is_ingress { &self.ingress } else { &self.egress });
        let types = list(&self.policy_types);
        let is_default = types.is_empty() && (is_ingress || !rules.is_empty());
        (is_default || types.iter().any(|it| it == direction)).then_some(rules)
    }
}

/// The traffic of pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    /// Whether the pods are in the network of their nodes.
    pub(crate) is_of_node: bool,
    /// The names that the pods look up.
    pub(crate) hosts: Box<[Box<str>]>,
    /// The ports of the containers, with their names.
    pub(crate) ports: Box<[(Box<str>, i32)]>,
    /// Words that make a program listen only inside its pod, each with the address and the port.
    pub(crate) on_loopback: Box<[(Field, Box<str>, i32)]>,
}

impl Traffic {
    pub(super) fn of(pod: &PodSpec) -> Self {
        let ports = containers(pod).flat_map(|it| list(&it.ports));
        let ports =
            ports.map(|it| (it.name.as_deref().unwrap_or_default().into(), it.container_port));
        let mut loopback = Vec::new();
        visit(pod, &POD_SPEC, &mut |container, path| {
            let declared = list(&container.ports).iter().map(|it| it.container_port);
            let declared: BTreeSet<_> = declared.collect();
            on_loopback(container, path, &mut |host, port, effect, path| {
                if declared.contains(&port) && effect.is_none() {
                    loopback.push((path.to_field(), host.into(), port));
                }
            });
        });
        Traffic {
            is_of_node: pod.host_network == Some(true),
            hosts: hosts::shown(pod),
            ports: ports.collect(),
            on_loopback: loopback.into(),
        }
    }

    /// Returns the number of the port behind a Service.
    pub(crate) fn number(&self, target: &NamedPort) -> Option<i32> {
        let named = || self.ports.iter().find(|it| it.0 == target.name).map(|it| it.1);
        target.name.parse().ok().or_else(named)
    }
}
