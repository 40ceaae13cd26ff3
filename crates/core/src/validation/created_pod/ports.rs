use super::pod::{CreatedPod, REFUSED};
use crate::validation::prelude::*;

/// `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go, gives each port a `hostPort`. Then
/// `AccumulateUniqueHostPorts` rejects ports that occur twice in all containers together, or in one init container:
/// init containers run one by one.
pub(super) fn validate(pod: &CreatedPod<'_>, found: &mut Findings) {
    if pod.spec.host_network != Some(true) {
        return;
    }
    let help = "with hostNetwork each containerPort is a port of the node: list it once";
    found.quote(REFUSED, help, |found| {
        let mut ports = Ports::new();
        for (i, container) in pod.spec.containers.iter().enumerate() {
            ports.add(container, &found.at(&POD_SPEC.item("containers", i)));
        }
        for (i, container) in list(&pod.spec.init_containers).iter().enumerate() {
            Ports::new().add(container, &found.at(&POD_SPEC.item("initContainers", i)));
        }
    });
}

/// Protocol, address and number.
type Port<'a> = (&'a str, &'a str, i32);

struct Ports<'a> {
    of_pod: Seen<Port<'a>>,
    /// Validation of the template reports duplicates among these.
    explicit: Seen<Port<'a>>,
}

impl<'a> Ports<'a> {
    fn new() -> Self {
        Ports { of_pod: Seen::new(), explicit: Seen::new() }
    }

    fn add(&mut self, container: &'a Container, path: &At<'_>) {
        for (i, port) in list(&container.ports).iter().enumerate() {
            let given = port.host_port.filter(|number| *number != 0);
            let number = given.unwrap_or(port.container_port);
            if number == 0 {
                continue;
            }
            let key = (text(&port.protocol), text(&port.host_ip), number);
            let is_reported = given.is_some() && !self.explicit.insert(key);
            if !self.of_pod.insert(key) && !is_reported {
                let (protocol, ip, number) = key;
                let value = format!("{protocol}/{ip}/{number}");
                let field = if given.is_some() { "hostPort" } else { "containerPort" };
                path.item("ports", i).child(field).duplicate(&value);
            }
        }
    }
}
