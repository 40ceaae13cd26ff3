//! Faults outside of a pod that no change of its template can fix.

use super::{
    pod_events::why_not_started,
    scheduler,
    webhooks::{down_for, fault_of_named},
};
use crate::observed::NotReadyReason;
use crate::rules::prelude::*;

/// How container runtimes and kubelets describe a network failure of a pod.
const NETWORK: [&str; 3] = ["network for ", "NetworkPlugin", "CNI network"];

impl StatusQuery<'_> {
    /// Returns advice on a pod that no change of the template can help; `None` if one may.
    pub(in crate::rules) fn not_of_template(&self, pod: &Pod) -> Option<Help> {
        let trouble = pod.trouble.as_deref()?;
        match trouble.kind {
            NotReadyKind::NoKubelet => Some(self.of_kubelet(pod)),
            NotReadyKind::Unschedulable => self.of_scheduler(pod, trouble),
            NotReadyKind::Waiting => self.of_node(pod),
            _ => None,
        }
    }

    fn of_kubelet(&self, pod: &Pod) -> Help {
        if let Some(cause) = down_for(self, Call::PodStatus) {
            return Help::say(format!("the set needs no change: {cause}"));
        }
        Help::say("see whether the kubelet of the node works; the set needs no change; ")
            .run(self.describe_node(pod))
            .and(" shows its conditions")
    }

    fn of_scheduler(&self, pod: &Pod, trouble: &NotReadyReason) -> Option<Help> {
        if &*trouble.reason == "SchedulingGated" {
            let look = self.kubectl().looks("get pod", &[&pod.name, "-o", "yaml"]);
            let help = Help::say("find out which controller should remove its scheduling gates; ");
            return Some(help.run(look).and(" shows them"));
        }
        if let Some(cause) = fault_of_named(self, &trouble.message) {
            return Some(Help::say(format!("the set needs no change: {cause}")));
        }
        if let Some(help) = self.wait_for_node(pod) {
            return Some(help);
        }
        scheduler::missing_claim(&trouble.message)?;
        let claims = self.kubectl().looks("get pvc", &[]);
        let help = Help::say("create the claim, and the pod starts by itself; ");
        Some(help.run(claims).and(" lists the existing ones"))
    }

    fn of_node(&self, pod: &Pod) -> Option<Help> {
        let node = pod.node.as_deref().filter(|_| pod.is_bound)?;
        let (observed, namespace) = (self.audit.observed, self.set.namespace());
        let event = why_not_started(observed.events(namespace, Kind::Pod, &pod.name))?;
        let anywhere = self.audit.kubectl_anywhere();
        let says = |text: &str| event.message.contains(text);
        match &*event.reason {
            "NetworkNotReady" => Some(self.no_network(pod, node)),
            "FailedCreatePodSandBox" if NETWORK.iter().any(|it| says(it)) => {
                Some(self.no_network(pod, node))
            }
            "FailedMount" if says("list of registered CSI drivers") => {
                let text = format!(
                    "see whether the pod of the driver runs on {node}, which registers it there; the set \
                     needs no change; "
                );
                let look = anywhere.looks("describe csinode", &[node]);
                Some(Help::say(text).run(look).and(" lists the registered ones"))
            }
            "FailedAttachVolume" => {
                let text = if says("Multi-Attach error") {
                    "find the node that still has the volume: it is detached when no pod there uses it, or \
                     six minutes after the pod is gone from a node that is down; the set needs no change; "
                } else {
                    "see why the volume cannot be attached to the node; the set needs no change; "
                };
                let look = anywhere.looks("get volumeattachments", &[]);
                Some(Help::say(text).run(look).and(" shows which node has which volume"))
            }
            _ => None,
        }
    }

    fn no_network(&self, pod: &Pod, node: &str) -> Help {
        let text = format!(
            "see whether the network plugin works on {node}, which gives pods their addresses; the set needs \
             no change; "
        );
        Help::say(text).run(self.describe_node(pod)).and(" shows its conditions and pods")
    }

    fn describe_node(&self, pod: &Pod) -> Command {
        let node = pod.node.as_deref().unwrap_or_default();
        self.audit.kubectl_anywhere().looks("describe node", &[node])
    }
}
