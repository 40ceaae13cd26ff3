//! Services, and the environment variables that they add to containers.

use std::collections::{HashMap, HashSet};

use super::shapes::Marks;
use crate::inventory::prelude::*;
use crate::{
    inventory::{
        configs::{Refused, is_filled_in},
        object_summary::NamedPort,
    },
    kubernetes::names::{dns1123_label, port_name},
};

/// The length of an address that is assigned later, such as `10.96.123.45`.
const ADDRESS: usize = 12;

/// The bytes of a variable in addition to its name and value: `=`, the terminating null, and a pointer.
const MORE: usize = 2 + 8;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceSpec {
    #[serde(rename = "clusterIP")]
    pub(super) cluster_ip: Option<String>,
    pub(super) selector: Option<Marks>,
    #[serde(rename = "type")]
    pub(super) type_: Option<String>,
    pub(super) publish_not_ready_addresses: Option<bool>,
    pub(super) internal_traffic_policy: Option<String>,
    ports: Option<Vec<ServicePort>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServicePort {
    name: Option<String>,
    port: IntOrString,
    node_port: Option<i64>,
    target_port: Option<IntOrString>,
    protocol: Option<String>,
}

/// Properties of the previous ports of a Service.
#[derive(Default)]
struct Before<'p> {
    names: HashSet<&'p str>,
    numbers: HashSet<(i64, &'p str)>,
    /// Each with its port.
    node_ports: HashMap<i64, i64>,
}

impl ServiceSpec {
    /// Kubernetes: `ValidateService`, pkg/apis/core/validation/validation.go.
    pub(super) fn refused(&self) -> Option<Refused> {
        let ports = self.ports.as_deref().unwrap_or_default();
        let needs_ports = self.cluster_ip.as_deref() != Some("None")
            && self.type_.as_deref() != Some("ExternalName");
        if ports.is_empty() && needs_ports {
            return Some(Refused::new("it has no ports", "add its ports, or set clusterIP: None"));
        }
        if !needs_ports && matches!(self.type_.as_deref(), Some("LoadBalancer" | "NodePort")) {
            let help = "remove the type, or clusterIP: None";
            return Some(Refused::new("a headless Service has no other type", help));
        }
        let of_selector =
            self.selector.as_ref().and_then(|it| Refused::of_labels("the selector ", it));
        of_selector.or_else(|| {
            let mut before = Before::default();
            ports.iter().find_map(|port| self.refused_port(port, ports.len() > 1, &mut before))
        })
    }

    fn refused_port<'p>(
        &self,
        port: &'p ServicePort,
        has_more: bool,
        before: &mut Before<'p>,
    ) -> Option<Refused> {
        let (number, protocol, name) = (port.number(), port.protocol(), port.named());
        let target = match &port.target_port {
            Some(IntOrString::String(text)) if !text.is_empty() && !is_filled_in(text) => {
                Some(text)
            }
            _ => None,
        };
        let (why, help) = if let IntOrString::String(text) = &port.port {
            if is_filled_in(text) {
                return None;
            }
            (format!("the port {text:?} is not a number"), "write it without quotes")
        } else if has_more && name.is_none() {
            (format!("port {number} has no name"), "name each of its ports")
        } else if let Some(name) = name.filter(|name| !before.names.insert(name)) {
            (format!("two of its ports have the name {name}"), "give each port its own name")
        } else if !before.numbers.insert((number, protocol)) {
            (format!("it has port {number} ({protocol}) twice"), "remove one of them")
        } else if let Some(own) = port.node_port.filter(|it| *it != 0)
            && matches!(self.type_.as_deref(), None | Some("" | "ClusterIP"))
        {
            (format!("nodePort {own} needs another type"), "set type: NodePort, or remove nodePort")
        } else if let Some(own) = port.node_port.filter(|it| *it != 0)
            // A port of TCP and UDP may share one.
            && *before.node_ports.entry(own).or_insert(number) != number
        {
            (format!("it has nodePort {own} twice"), "give each port its own nodePort")
        } else if let Some(name) =
            name.filter(|it| !is_filled_in(it) && !dns1123_label(it).is_empty())
        {
            (
                format!("a port cannot have the name {name:?}"),
                "use lower-case letters, digits and '-'",
            )
        } else if let Some(text) = target.filter(|it| it.bytes().all(|it| it.is_ascii_digit())) {
            (format!("its targetPort {text:?} is a text"), "write the number without quotes")
        } else if let Some(text) = target.filter(|it| !port_name(it).is_empty()) {
            let help = "use the name of a port: up to 15 lower-case letters, digits and '-'";
            (format!("its targetPort cannot be {text:?}"), help)
        } else {
            return None;
        };
        Some(Refused::new(why, help))
    }

    /// Returns the ports that are the same on all nodes, in order.
    pub(super) fn node_ports(&self) -> Box<[i64]> {
        let all = self.ports.iter().flatten().filter_map(|it| it.node_port);
        all.filter(|it| *it != 0).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn names(&self) -> Box<[Box<str>]> {
        self.ports.iter().flatten().filter_map(|it| it.named().map(Into::into)).collect()
    }

    /// Returns the ports, each with its port of the pods.
    pub(super) fn targets(&self) -> Box<[(i64, NamedPort)]> {
        let of = |port: &ServicePort| {
            let target = match &port.target_port {
                Some(IntOrString::String(name)) => name.clone(),
                Some(IntOrString::Int(number)) if *number != 0 => number.to_string(),
                _ => port.number().to_string(),
            };
            (port.number(), NamedPort::of(&target, Some(port.protocol())))
        };
        self.ports.iter().flatten().map(of).collect()
    }

    /// Returns the bytes of the Service's variables in each container. `name` is the length of its name.
    ///
    /// Kubernetes: `FromServices`, pkg/kubelet/envvars/envvars.go.
    pub(super) fn variables(&self, name: usize) -> u32 {
        let address = match self.cluster_ip.as_deref() {
            _ if self.type_.as_deref() == Some("ExternalName") => return 0,
            Some("None") => return 0,
            Some("") | None => ADDRESS,
            Some(address) => address.len(),
        };
        let ports = self.ports.as_deref().unwrap_or_default();
        let of_ports: usize = ports.iter().map(|port| port.variables(name, address)).sum();
        let of_first = ports.first().map_or(0, |first| {
            let host = name + "_SERVICE_HOST".len() + address + MORE;
            let port = name + "_SERVICE_PORT".len() + digits(first.number()) + MORE;
            host + port + name + "_PORT".len() + first.url(address) + MORE
        });
        u32::try_from(of_first + of_ports).unwrap_or(u32::MAX)
    }
}

impl ServicePort {
    fn variables(&self, name: usize, address: usize) -> usize {
        let port = digits(self.number());
        let named =
            self.named().map_or(0, |own| name + "_SERVICE_PORT_".len() + own.len() + port + MORE);
        let protocol = self.protocol().len();
        let prefix = name + "_PORT_".len() + port + "_".len() + protocol;
        let values =
            [("", self.url(address)), ("_PROTO", protocol), ("_PORT", port), ("_ADDR", address)];
        named + values.iter().map(|(key, it)| prefix + key.len() + it + MORE).sum::<usize>()
    }

    /// The length of `tcp://10.96.0.1:80`.
    fn url(&self, address: usize) -> usize {
        self.protocol().len() + "://".len() + address + ":".len() + digits(self.number())
    }

    fn named(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }

    fn number(&self) -> i64 {
        match &self.port {
            IntOrString::Int(number) => (*number).into(),
            IntOrString::String(text) => text.parse().unwrap_or(0),
        }
    }

    fn protocol(&self) -> &str {
        self.protocol.as_deref().unwrap_or("TCP")
    }
}

fn digits(port: i64) -> usize {
    port.unsigned_abs().checked_ilog10().map_or(1, |it| it as usize + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn size(spec: serde_json::Value) -> u32 {
        let spec: ServiceSpec = serde_json::from_value(spec).unwrap();
        spec.variables("web".len())
    }

    #[test]
    fn variables_are_counted_as_the_kubelet_makes_them() {
        let variables = [
            "WEB_SERVICE_HOST=10.0.0.7", "WEB_SERVICE_PORT=80", "WEB_SERVICE_PORT_HTTP=80",
            "WEB_PORT=tcp://10.0.0.7:80", "WEB_PORT_80_TCP=tcp://10.0.0.7:80",
            "WEB_PORT_80_TCP_PROTO=tcp", "WEB_PORT_80_TCP_PORT=80",
            "WEB_PORT_80_TCP_ADDR=10.0.0.7",
        ];
        let expected = variables.iter().map(|it| it.len() + 1 + 8).sum::<usize>();
        let ports = json!([{"name": "http", "port": 80}]);
        assert_eq!(size(json!({"clusterIP": "10.0.0.7", "ports": ports})) as usize, expected);
        assert!(size(json!({"ports": ports})) as usize > expected);
        assert_eq!(size(json!({"clusterIP": "None", "ports": ports})), 0);
        assert_eq!(size(json!({"type": "ExternalName", "ports": ports})), 0);
        assert_eq!(size(json!({"clusterIP": "10.0.0.7"})), 0);
    }
}
