use crate::observed::{NewNode, Scaling};
use crate::rules::prelude::*;

impl StatusQuery<'_> {
    pub(super) fn scaling(&self, pod: &Pod) -> Option<Scaling<'_>> {
        self.audit.observed.scaling(self.set.namespace(), pod, self.audit.now.as_second())
    }

    pub(in crate::rules) fn scaled(&self, pod: &Pod) -> Option<String> {
        let Scaling { by, node, at: time, message } = self.scaling(pod)?;
        let message = one_line(message);
        Some(match node {
            NewNode::Coming(_) => format!("{by} began to add a node at {}: {message}", at(time)),
            NewNode::Late => {
                format!("{by} began to add a node at {}, and it has not come: {message}", at(time))
            }
            NewNode::Refused => format!("{by} adds no node: {message}"),
        })
    }

    pub(in crate::rules) fn wait_for_node(&self, pod: &Pod) -> Option<Help> {
        let Scaling { by, node, .. } = self.scaling(pod)?;
        match node {
            NewNode::Coming(end) => {
                let look = self.kubectl().looks("describe pod", &[&pod.name]);
                let help = Help::say(format!("wait for the node until {}; ", at(end)));
                Some(help.run(look).and(" shows whether it has come"))
            }
            NewNode::Late => {
                let nodes = self.audit.kubectl_anywhere().looks("get nodes", &["-o", "wide"]);
                let help = Help::say(format!("see why {by} gets no node that is Ready; "));
                Some(help.run(nodes).and(" lists the existing ones"))
            }
            NewNode::Refused => None,
        }
    }

    /// Reports that a pod of higher priority displaced the previous pod with this name.
    pub(in crate::rules) fn preempted(&self, pod: &Pod) -> Option<String> {
        let event = self.audit.observed.preemption(self.set.namespace(), pod)?;
        // The scheduler names only the uid of the pod, and no command finds a pod by its uid.
        let node = event.message.rsplit_once(" on node ").map(|(_, node)| one_line(node));
        let place = node.map(|node| format!(" on node {node}")).unwrap_or_default();
        Some(format!("a pod of higher priority took its place{place} at {}", at(event.last)))
    }
}
