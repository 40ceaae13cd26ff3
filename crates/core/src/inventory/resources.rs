use std::fmt;

use k8s_openapi::api::core::v1::ResourceRequirements;

use crate::inventory::prelude::*;
use crate::kubernetes::{containers::is_sidecar, quantity};

/// CPU in thousandths, and memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) cpu: u64,
    pub(crate) memory: u64,
}

impl Resources {
    /// Returns a pod's requests: the sum for its containers, or the most that an init container needs together with the
    /// sidecars before it, plus the overhead.
    ///
    /// Kubernetes: `PodRequests`, component-helpers resource/helpers.go.
    pub(super) fn of_pod(pod: &PodSpec) -> Self {
        let mut running = Resources::default();
        let mut most = Resources::default();
        for init in pod.init_containers.iter().flatten() {
            let own = Resources::of_container(init);
            if is_sidecar(init) {
                running = running.plus(own);
                most = most.max(running);
            } else {
                most = most.max(running.plus(own));
            }
        }
        let containers = pod.containers.iter().map(Resources::of_container);
        let mut all = containers.fold(running, Resources::plus).max(most);
        if let Some(whole) = &pod.resources {
            let whole = |name| request(whole, name);
            all.cpu = whole("cpu").unwrap_or(all.cpu);
            all.memory = whole("memory").unwrap_or(all.memory);
        }
        let overhead = |name| pod.overhead.as_ref().and_then(|it| Resources::read(it, name));
        all.plus(Resources {
            cpu: overhead("cpu").unwrap_or(0),
            memory: overhead("memory").unwrap_or(0),
        })
    }

    fn of_container(container: &Container) -> Self {
        let own = |name| container.resources.as_ref().and_then(|it| request(it, name));
        Resources { cpu: own("cpu").unwrap_or(0), memory: own("memory").unwrap_or(0) }
    }

    /// Returns `None` if the list lacks the resource or has an invalid amount.
    pub(super) fn read(list: &BTreeMap<String, Quantity>, name: &str) -> Option<u64> {
        let thousandths = quantity::Quantity::parse_resource(&list.get(name)?.0)?.thousandths()?;
        let amount = if name == "memory" { thousandths.div_ceil(1000) } else { thousandths };
        u64::try_from(amount).ok()
    }

    const fn plus(self, other: Self) -> Self {
        Resources {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Resources { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }
}

/// `1500m CPU and 2048Mi`
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.memory >> 20;
        write!(f, "{}m CPU and {mebibytes}Mi", self.cpu)
    }
}

/// The request defaults to the limit.
fn request(resources: &ResourceRequirements, name: &str) -> Option<u64> {
    let read = |list: &Option<BTreeMap<String, Quantity>>| Resources::read(list.as_ref()?, name);
    read(&resources.requests).or_else(|| read(&resources.limits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_requests_what_runs_at_one_time() {
        let requests = |cpu: &str| json!({"requests": {"cpu": cpu, "memory": "1Gi"}});
        let container = |cpu: &str| json!({"name": "a", "resources": requests(cpu)});
        let sidecar = json!({"name": "s", "restartPolicy": "Always", "resources": requests("1")});
        let cpu = |pod: serde_json::Value| {
            let pod: PodSpec = serde_json::from_value(pod).unwrap();
            Resources::of_pod(&pod).cpu
        };
        assert_eq!(cpu(json!({"containers": [container("1"), container("500m")]})), 1500);
        let inits = |first, second| json!({"initContainers": [first, second], "containers": [container("1")]});
        assert_eq!(cpu(inits(container("3"), container("2"))), 3000);
        assert_eq!(cpu(inits(sidecar.clone(), container("1500m"))), 2500);
        assert_eq!(cpu(inits(container("1500m"), sidecar)), 2000);
        let limits = json!({"limits": {"cpu": "2"}});
        assert_eq!(cpu(json!({"containers": [{"name": "a", "resources": limits}]})), 2000);
        assert_eq!(cpu(json!({"containers": [container("1")], "overhead": {"cpu": "250m"}})), 1250);
        assert_eq!(
            cpu(json!({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}})),
            4000
        );
    }
}
