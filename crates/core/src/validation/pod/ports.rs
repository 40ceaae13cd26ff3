use k8s_openapi::{api::core::v1::ContainerPort, apimachinery::pkg::util::intstr::IntOrString};

use crate::validation::prelude::*;

/// Follows `validateContainerPorts`.
pub(crate) fn validate(ports: &[ContainerPort], path: &At<'_>) {
    let mut names_seen = Seen::new();
    for (port, path) in path.items(ports) {
        let name = text(&port.name);
        if !name.is_empty() {
            let wrong = names::port_name(name);
            if wrong.is_empty() && !names_seen.insert(name) {
                path.child("name").duplicate(name);
            }
            each(wrong, name, &path.child("name"));
        }
        if port.container_port == 0 {
            path.child("containerPort").required("");
        } else {
            number(port.container_port, &path.child("containerPort"));
        }
        if let Some(host) = port.host_port.filter(|host| *host != 0) {
            number(host, &path.child("hostPort"));
        }
        let protocols = &["SCTP", "TCP", "UDP"];
        required_one_of(text(&port.protocol), protocols, &path.child("protocol"));
    }
}

fn number(port: i32, path: &At<'_>) {
    for message in names::port_number(port) {
        path.invalid(port, message);
    }
}

/// Follows `ValidatePortNumOrName`.
pub(crate) fn number_or_name(port: &IntOrString, path: &At<'_>) {
    match port {
        IntOrString::Int(port) => number(*port, path),
        IntOrString::String(name) => each(names::port_name(name), name, path),
    }
}

/// Follows `AccumulateUniqueHostPorts` for all these containers together. `path` is the path of the list.
pub(crate) fn host_port_conflicts(containers: &[Container], path: &At<'_>) {
    let mut seen = Seen::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(&container.ports).iter().enumerate() {
            let Some(number) = port.host_port.filter(|number| *number != 0) else { continue };
            let (protocol, ip) = (text(&port.protocol), text(&port.host_ip));
            if !seen.insert((protocol, ip, number)) {
                let value = format!("{protocol}/{ip}/{number}");
                path.index(i).child("ports").index(j).child("hostPort").duplicate(&value);
            }
        }
    }
}

/// Follows `validatePodHostNetworkDeps` for a template, where a host port may be absent.
pub(crate) fn on_host_network(spec: &PodSpec, path: &At<'_>) {
    if spec.host_network != Some(true) {
        return;
    }
    for (i, container) in spec.containers.iter().enumerate() {
        let path = path.item("containers", i);
        for (j, port) in list(&container.ports).iter().enumerate() {
            if let Some(host) = port.host_port
                && host != 0
                && host != port.container_port
            {
                let why = "must match `containerPort` when `hostNetwork` is true";
                path.item("ports", j).child("hostPort").invalid(host, why);
            }
        }
    }
}
