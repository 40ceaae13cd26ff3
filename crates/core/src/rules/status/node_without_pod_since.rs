//! Since when a node has lacked its pod of a DaemonSet.

use super::daemon_set::Daemons;
use crate::{
    observed::{Node, Pod},
    rollout::node::Placement,
    rules::rule::status::StatusQuery,
};

/// The time within which a controller writes a status after its cause, in seconds.
const AT_ONCE: i64 = 5;
/// The time for which a controller may be busy with many pods, in seconds.
const BUSY: i64 = 60;

/// Since when a node has lacked its pod.
#[derive(Clone, Copy)]
pub(in crate::rules) enum Lacking<'a> {
    /// Since this time at the latest; 0 if nothing shows it.
    Since(i64),
    /// The status has counted the pod as missing when it was last written, which this pod is the cause of.
    Unknown(&'a Pod),
}

impl Lacking<'_> {
    /// Returns this for one node, unless it has become ready again since.
    pub(in crate::rules) fn on(self, query: &StatusQuery<'_>, node: &Node) -> Option<Self> {
        let is_back = || node.ready_since.is_some_and(|it| !query.audit.is_long_ago(it));
        let is_known = matches!(self, Lacking::Since(_));
        (is_known || !is_back()).then_some(self)
    }
}

impl<'a> Daemons<'a> {
    /// Returns since when the nodes without a pod have lacked it. `None` if that may be for a moment only.
    ///
    /// The status is written when a pod comes or goes, so nothing has changed since. But it is also written when
    /// another pod becomes ready or unready. If it counted as many pods as missing then as are now, the
    /// controller has passed the node over: in each round it creates pods first, and counts them then.
    ///
    /// Kubernetes: `syncDaemonSet`, pkg/controller/daemon/daemon_controller.go.
    pub(in crate::rules) fn lacking(&self, query: &StatusQuery<'a>) -> Option<Lacking<'a>> {
        let audit = query.audit;
        let Some(written) = query.set.status_written else { return Some(Lacking::Since(0)) };
        if audit.is_long_ago(written) {
            return Some(Lacking::Since(written));
        }
        // The change may be the reason why the pods are wanted.
        if query.set.spec_written.is_some_and(|it| !audit.is_long_ago(it)) {
            return None;
        }
        let is_lacking = |(_, placement, pods): &&(&Node, Placement, Vec<&Pod>)| {
            *placement == Placement::Runs && pods.is_empty()
        };
        let lacking = self.nodes.iter().filter(is_lacking).count();
        let status = &self.set.status;
        let counted = status.desired_number_scheduled - status.current_number_scheduled;
        let pods = audit.observed.pods(query.set);
        let is_moving =
            |pod: &Pod| pod.deleted.is_some() || pod.created + BUSY > audit.now.as_second();
        if usize::try_from(counted) != Ok(lacking) || pods.iter().any(is_moving) {
            return None;
        }
        let least = query.set.min_ready_seconds();
        let is_cause = |pod: &&Pod| {
            let (is_ready, since) = pod.ready;
            let near = |at: i64| (at..=at + AT_ONCE).contains(&written);
            near(since) || is_ready && near(since + least)
        };
        pods.iter().find(is_cause).map(Lacking::Unknown)
    }
}
