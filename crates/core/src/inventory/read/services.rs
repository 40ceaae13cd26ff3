//! Services, and the environment variables that they add to containers.

use crate::inventory::object_summary::NamedPort;
use crate::inventory::prelude::*;

/// The length of an address that is assigned later, such as `10.96.123.45`.
const ADDRESS: usize = 12;

/// The bytes of a variable in addition to its name and value: `=`, the terminating null, and a pointer.
const MORE: usize = 2 + 8;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceSpec {
    #[serde(rename = "clusterIP")]
    pub(super) cluster_ip: Option<String>,
    pub(super) selector: Option<BTreeMap<String, String>>,
    #[serde(rename = "type")]
    pub(super) type_: Option<String>,
    pub(super) publish_not_ready_addresses: Option<bool>,
    ports: Option<Vec<ServicePort>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServicePort {
    name: Option<String>,
    port: i64,
    target_port: Option<IntOrString>,
    protocol: Option<String>,
}

impl ServiceSpec {
    /// Kubernetes: `ValidateService`, pkg/apis/core/validation/validation.go.
    pub(super) fn lacks_ports(&self) -> bool {
        self.ports.as_ref().is_none_or(Vec::is_empty)
            && self.cluster_ip.as_deref() != Some("None")
            && self.type_.as_deref() != Some("ExternalName")
    }

    /// Returns the ports, each with its port of the pods.
    pub(super) fn targets(&self) -> Box<[(i64, NamedPort)]> {
        let of = |port: &ServicePort| {
            let target = match &port.target_port {
                Some(IntOrString::String(name)) => name.clone(),
                Some(IntOrString::Int(number)) if *number != 0 => number.to_string(),
                _ => port.port.to_string(),
            };
            (port.port, NamedPort::of(&target, Some(port.protocol())))
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
            let port = name + "_SERVICE_PORT".len() + digits(first.port) + MORE;
            host + port + name + "_PORT".len() + first.url(address) + MORE
        });
        u32::try_from(of_first + of_ports).unwrap_or(u32::MAX)
    }
}

impl ServicePort {
    fn variables(&self, name: usize, address: usize) -> usize {
        let port = digits(self.port);
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        let named = named.map_or(0, |own| name + "_SERVICE_PORT_".len() + own.len() + port + MORE);
        let protocol = self.protocol().len();
        let prefix = name + "_PORT_".len() + port + "_".len() + protocol;
        let values =
            [("", self.url(address)), ("_PROTO", protocol), ("_PORT", port), ("_ADDR", address)];
        named + values.iter().map(|(key, it)| prefix + key.len() + it + MORE).sum::<usize>()
    }

    /// The length of `tcp://10.96.0.1:80`.
    fn url(&self, address: usize) -> usize {
        self.protocol().len() + "://".len() + address + ":".len() + digits(self.port)
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
