use std::collections::{HashMap, HashSet};

use k8s_openapi::api::core::v1::ContainerPort;

use crate::inventory::prelude::*;
use crate::kubernetes::containers::running;

/// All addresses of a node; the default.
///
/// Kubernetes: `DefaultBindAllHostIP`, kube-scheduler framework/types.go.
const ALL: &str = "0.0.0.0";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) port: i32,
    pub(crate) protocol: Box<str>,
    /// `None` for all addresses.
    ip: Option<Box<str>>,
    origin: PortField,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PortField {
    /// `containers` or `initContainers`.
    list: &'static str,
    container: usize,
    /// The index in the container's `ports`.
    index: usize,
    /// `hostPort`, or `containerPort` with `hostNetwork`.
    field: &'static str,
}

impl HostPort {
    /// Returns the host ports of a running pod. With `hostNetwork`, every declared port is one. Init containers have
    /// ended by then, except for sidecars.
    ///
    /// Kubernetes: `GetHostPorts`, pkg/scheduler/util/utils.go; `defaultHostNetworkPorts`,
    /// pkg/apis/core/v1/defaults.go.
    pub(crate) fn all(pod: &PodSpec) -> Box<[HostPort]> {
        let containers = running(pod).map(|(list, i, container)| (list, i, &container.ports));
        HostPort::of(pod.host_network == Some(true), containers)
    }

    pub(crate) fn of<'a>(
        host_network: bool,
        containers: impl Iterator<Item = (&'static str, usize, &'a Option<Vec<ContainerPort>>)>,
    ) -> Box<[HostPort]> {
        let ports = containers.flat_map(|(list, i, ports)| {
            let ports = ports.iter().flatten().enumerate();
            ports.map(move |(j, port)| (list, i, j, port))
        });
        let host_ports = ports.filter_map(|(list, container, index, port)| {
            let said = port.host_port.filter(|port| *port != 0);
            let (number, field) = match said {
                Some(number) => (number, "hostPort"),
                None if host_network => (port.container_port, "containerPort"),
                None => return None,
            };
            Some(HostPort::new(number, port, PortField { list, container, index, field }))
        });
        host_ports.collect()
    }

    fn new(number: i32, port: &ContainerPort, origin: PortField) -> Self {
        let ip = port.host_ip.as_deref().filter(|ip| !ip.is_empty() && *ip != ALL);
        HostPort {
            port: number,
            protocol: port.protocol.as_deref().unwrap_or("TCP").into(),
            ip: ip.map(Into::into),
            origin,
        }
    }

    /// Kubernetes: `HostPortInfo.CheckConflict`, kube-scheduler framework/types.go.
    #[cfg(test)]
    pub(crate) fn collides(&self, other: &HostPort) -> bool {
        let same_ip = self.ip.is_none() || other.ip.is_none() || self.ip == other.ip;
        self.port == other.port && self.protocol == other.protocol && same_ip
    }

    /// Returns the first host port, with the name of its container.
    pub(crate) fn first(pod: &PodSpec) -> Option<(Self, &str)> {
        let port = HostPort::all(pod).into_iter().next()?;
        let of_port = (port.origin.list, port.origin.container);
        let (.., container) = running(pod).find(|it| (it.0, it.1) == of_port)?;
        Some((port, &container.name))
    }

    /// Returns whether the port is one of the node only because of `hostNetwork`.
    pub(crate) fn is_by_network(&self) -> bool {
        self.origin.field == "containerPort"
    }

    pub(crate) fn field(&self) -> Field {
        let PortField { list, container, index, field } = self.origin;
        POD_SPEC.item(list, container).item("ports", index).child(field).to_field()
    }
}

/// Returns whether pods with these specs need the same port of a node.
pub fn share_a_port(one: &PodSpec, other: &PodSpec) -> bool {
    let (one, other) = (HostPort::all(one), HostPort::all(other));
    let one = HostPorts::of(&one);
    other.iter().any(|it| one.collides(it))
}

/// The host ports of a pod by number and protocol, for fast comparisons with other ports.
#[derive(Debug)]
pub(crate) struct HostPorts<'a>(HashMap<(i32, &'a str), Addresses<'a>>);

/// The first host port with a number, and the addresses of all of them; `None` for all addresses.
type Addresses<'a> = (&'a HostPort, HashSet<Option<&'a str>>);

impl<'a> HostPorts<'a> {
    pub(crate) fn of(host_ports: &'a [HostPort]) -> Self {
        let mut ports: HashMap<_, Addresses<'_>> = HashMap::new();
        for port in host_ports {
            let entry = ports.entry((port.port, &*port.protocol));
            let (_, addresses) = entry.or_insert_with(|| (port, HashSet::new()));
            addresses.insert(port.ip.as_deref());
        }
        HostPorts(ports)
    }

    pub(crate) fn first_of_each(&self) -> impl Iterator<Item = &'a HostPort> {
        self.0.values().map(|(first, _)| *first)
    }

    /// See [`HostPort::collides`].
    pub(crate) fn collides(&self, other: &HostPort) -> bool {
        self.0.get(&(other.port, &*other.protocol)).is_some_and(|(_, addresses)| {
            other.ip.is_none()
                || addresses.contains(&None)
                || addresses.contains(&other.ip.as_deref())
        })
    }
}
