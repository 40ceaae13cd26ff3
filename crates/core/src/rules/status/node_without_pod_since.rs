use crate::rules::prelude::*;

/// How soon after its cause a controller writes a status, in seconds.
const AT_ONCE: i64 = 5;
/// How long a controller may be busy with many pods, in seconds.
const BUSY: i64 = 60;

/// Since when a node has lacked its pod.
#[derive(Clone, Copy)]
pub(in crate::rules) enum Lacking<'a> {
    /// Since this time at the latest; 0 if unknown.
    Since(i64),
    /// The status counted the pod as missing when this different pod caused its last write.
    Unknown(&'a Pod),
}

impl Lacking<'_> {
    /// Returns `None` if there is only the set's status, and the node has become ready again since.
    pub(in crate::rules) fn on(self, query: &StatusQuery<'_>, node: &Node) -> Option<Self> {
        let is_back = || node.ready_since.is_some_and(|it| !query.audit.is_long_ago(it));
        let is_known = matches!(self, Lacking::Since(_));
        (is_known || !is_back()).then_some(self)
    }
}

impl<'a> Daemons<'a> {
    /// Returns since when nodes have lacked their pods; `None` if they may lack them only for a moment.
    ///
    /// The controller writes the status when a pod comes or goes, so nothing has changed since the last write. But it
    /// also writes the status when a different pod becomes ready or unready. If that status counts as many missing pods
    /// as there are now, the controller has skipped the node: each sync creates pods first, and then counts them.
    ///
    /// Kubernetes: `syncDaemonSet`, pkg/controller/daemon/daemon_controller.go.
    pub(in crate::rules) fn lacking(&self, query: &StatusQuery<'a>) -> Option<Lacking<'a>> {
        let audit = query.audit;
        let Some(written) = query.set.status_written else { return Some(Lacking::Since(0)) };
        if audit.is_long_ago(written) {
            return Some(Lacking::Since(written));
        }
        // The pods may be wanted only because of this change.
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
