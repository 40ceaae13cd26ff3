//! The words about autoscalers of nodes, and about preemption.

use super::{read::at, text::one_line};
use crate::{
    finding::Help,
    observed::{LONGEST_WAIT, Pod, SLACK, Scaling},
    rules::rule::status::StatusQuery,
};

impl StatusQuery<'_> {
    /// Returns the last answer of an autoscaler to a pod without a place. A refusal is repeated as long as it is
    /// true, so an old one is history.
    fn scaling(&self, pod: &Pod) -> Option<Scaling<'_>> {
        let scaling = self.audit.observed.scaling(self.set.namespace(), pod)?;
        let end = scaling.at.saturating_add(LONGEST_WAIT + SLACK);
        (scaling.adds_node || end > self.audit.now.as_second()).then_some(scaling)
    }

    /// Says what an autoscaler of nodes last did about a pod without a place.
    pub(super) fn scaled(&self, pod: &Pod) -> Option<String> {
        let scaling = self.scaling(pod)?;
        let is_over = scaling.end() <= self.audit.now.as_second();
        let Scaling { by, adds_node, at: time, message } = scaling;
        let message = one_line(message);
        Some(match (adds_node, is_over) {
            (true, false) => format!("{by} began to add a node at {}: {message}", at(time)),
            (true, true) => {
                format!("{by} began to add a node at {}, and it has not come: {message}", at(time))
            }
            (false, _) => format!("{by} adds no node: {message}"),
        })
    }

    /// Advises to wait for a node that is being added.
    pub(super) fn wait_for_node(&self, pod: &Pod) -> Option<Help> {
        let scaling = self.scaling(pod).filter(|it| it.adds_node)?;
        if scaling.end() <= self.audit.now.as_second() {
            let nodes = self.audit.kubectl_anywhere().looks("get nodes", &["-o", "wide"]);
            let help = Help::say(format!("see why {} gets no node that is Ready; ", scaling.by));
            return Some(help.run(nodes).and(" shows those that there are"));
        }
        let look = self.kubectl().looks("describe pod", &[&pod.name]);
        let help = Help::say(format!("wait for the node until {}; ", at(scaling.end())));
        Some(help.run(look).and(" shows whether it has come"))
    }

    /// Says that another pod took the place of the pod that had this name before.
    pub(super) fn preempted(&self, pod: &Pod) -> Option<String> {
        let event = self.audit.observed.preemption(self.set.namespace(), pod)?;
        let message = one_line(&event.message);
        Some(format!("a pod of higher priority took its place at {}: {message}", at(event.last)))
    }
}
