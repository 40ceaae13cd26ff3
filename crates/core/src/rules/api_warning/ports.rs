//! The part of `warningsForPodSpecAndMeta` about ports, over all containers together.

use k8s_openapi::api::core::v1::ContainerPort;

use super::{Harm, TWICE, say};
use crate::rules::prelude::*;

/// How many earlier ports with the same number a port is compared with.
const MOST: usize = 100;

const ONE: Harm = Some(
    "give one of the containers another port: they share the network of the pod, so only one of them can listen on it",
);

pub(super) fn warn(spec: &PodSpec, found: &mut Findings) {
    let inits = list(&spec.init_containers);
    let ends = |i: usize| inits.get(i).is_some_and(|it| !is_sidecar(it));
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    let mut index = 0;
    visit(spec, &POD_SPEC, &mut |container, path| {
        for (i, port) in list(&container.ports).iter().enumerate() {
            let (path, protocol) = (path.item("ports", i), text(&port.protocol).to_owned());
            if !text(&port.host_ip).is_empty() && host_port(port) == 0 {
                let text = format!("hostIP set without hostPort: {}", as_go(port));
                say(&path, text, None, found);
            }
            let others = all.entry((port.container_port, protocol)).or_default();
            for (of, at, other) in others.iter().take(MOST) {
                if let Some(what) = conflict(port, other) {
                    let text = format!("{what} port definition with {at}");
                    // An address keeps two listeners apart, and pod-never-created says more about ports of the node.
                    let is_shared = what == "duplicate"
                        && port.host_ip.as_ref().is_none_or(String::is_empty)
                        && host_port(port) == 0
                        && spec.host_network != Some(true)
                        && !ends(*of)
                        && !ends(index);
                    let harm = if *of == index { TWICE } else { ONE.filter(|_| is_shared) };
                    say(&path, text, harm, found);
                }
            }
            others.push((index, path.to_field(), port.clone()));
        }
        index += 1;
    });
    names(spec, found);
}

/// Returns the API server's word for two ports with the same number and protocol.
pub(in crate::rules) fn conflict(
    port: &ContainerPort,
    other: &ContainerPort,
) -> Option<&'static str> {
    let addresses = [text(&port.host_ip), text(&other.host_ip)];
    let numbers = [host_port(port), host_port(other)];
    if addresses[0] == addresses[1] && numbers[0] == numbers[1] {
        Some("duplicate")
    } else if numbers.contains(&0) {
        Some("overlapping")
    } else if numbers[0] == numbers[1] && addresses[0].is_empty() != addresses[1].is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

/// A Service does not find a port of an init container that ends: `FindPort`, pkg/api/v1/pod/util.go.
fn names(spec: &PodSpec, found: &mut Findings) {
    let mut first = HashMap::new();
    let ends: Vec<_> = list(&spec.init_containers).iter().map(|it| !is_sidecar(it)).collect();
    let mut ends = ends.into_iter().chain(spec.containers.iter().map(|_| false));
    visit(spec, &POD_SPEC, &mut |container, path| {
        let ends = ends.next().unwrap_or_default();
        let path = path.child("ports");
        for (port, path) in path.items(list(&container.ports)) {
            let name = text(&port.name);
            if name.is_empty() {
                continue;
            }
            let Some((at, has_ended)) = first.get(name) else {
                first.insert(name.to_owned(), (path.to_field(), ends));
                continue;
            };
            let text = format!(
                "duplicate port name {} with {at}, services and probes that select ports by name will use {at}",
                Value::Str(name)
            );
            let harm = Some("give each port its own name").filter(|_| !ends && !has_ended);
            say(&path, text, harm, found);
        }
    });
}

fn host_port(port: &ContainerPort) -> i32 {
    port.host_port.unwrap_or_default()
}

/// As Go prints the struct.
fn as_go(port: &ContainerPort) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        text(&port.name),
        host_port(port),
        port.container_port,
        text(&port.protocol),
        text(&port.host_ip)
    )
}
