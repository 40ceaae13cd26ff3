//! Rollouts that wait for unavailable pods: for rules about updates and about running clusters.

use k8s_openapi::api::apps::v1::{DaemonSetStatus, StatefulSetStatus};

use crate::rollout::{daemon_set, stateful_set::Settings};
use crate::rules::prelude::*;

/// How many pods of a DaemonSet are unavailable, and how many may be during an update.
///
/// Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go; `UnavailableCount`,
/// pkg/controller/daemon/util/daemonset_util.go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unavailability {
    pub(super) desired: i32,
    pub(super) unavailable: i32,
    pub(super) allowed: i64,
}

impl Unavailability {
    /// `None` unless the update deletes pods a few at a time.
    pub(super) fn of<T>(spec: &DaemonSetSpec<T>, status: &DaemonSetStatus) -> Option<Self> {
        let settings = daemon_set::Settings::of(spec);
        let desired = status.desired_number_scheduled;
        let budget = settings.budget(usize::try_from(desired).unwrap_or_default());
        let allowed = budget.max_unavailable;
        let unavailable = status.number_unavailable.unwrap_or_default();
        let deletes = !settings.is_on_delete() && budget.max_surge == 0 && allowed > 0;
        let allowed = i64::try_from(allowed).unwrap_or(i64::MAX);
        deletes.then_some(Unavailability { desired, unavailable, allowed })
    }

    /// Returns whether available pods must wait for unavailable ones. If no pod is available, the controller replaces
    /// all of them at once.
    pub(super) fn is_used_up(&self) -> bool {
        i64::from(self.unavailable) >= self.allowed && self.unavailable < self.desired
    }

    pub(super) fn consequence(&self) -> String {
        let Unavailability { desired, unavailable, allowed } = self;
        format!(
            "unavailable pods: {unavailable} of {desired}; maxUnavailable allows {allowed}, so the \
             other pods keep the old template until those are available again"
        )
    }
}

/// Describes what happens when an ordered StatefulSet gets a new template while pods are not ready. `who` names these
/// pods.
///
/// Kubernetes: `processReplica`, pkg/controller/statefulset/stateful_set_control.go.
pub(super) fn ordered(who: &str) -> String {
    format!("{who}, and {ORDERED}")
}

pub(super) const ORDERED: &str = "with podManagementPolicy OrderedReady the new template is not rolled \
                                  out until every pod is ready, even if it is the fix";

/// Without the block `rollingUpdate`, most pods come back with the old template.
pub(super) const BARE: &str =
    ": without spec.updateStrategy.rollingUpdate, the pod comes back with the old template";

/// Returns whether a pod that is deleted, or else the first one, comes back with the old template because the block is
/// missing.
pub(super) fn is_bare(
    object: &Object<'_>,
    status: &StatefulSetStatus,
    ordinal: Option<i64>,
    cluster: &Cluster,
) -> bool {
    let outdated = status.replicas - status.updated_replicas.unwrap_or_default();
    let others = status.current_replicas.unwrap_or(outdated) - 1;
    let spec = object.stateful_set();
    spec.and_then(|it| Settings::of(object.name(), it, cluster)).is_some_and(|it| {
        let others = usize::try_from(others).unwrap_or_default();
        it.is_bare && it.creates_old(ordinal.unwrap_or(it.ordinals.start), others)
    })
}

/// The same, while the manifest is written.
pub(super) const WRITE_BLOCK: &str = "; first write updateStrategy.rollingUpdate.partition: 0, because without \
                                      rollingUpdate the pod comes back with the old template";

/// Explains why it does not help to delete a broken pod below the partition: it comes back with the old template.
/// `partition` is an index, not an ordinal; `lower` explains how to lower it and delete the pod.
pub(super) fn below_partition(index: i64, partition: i64, lower: Help) -> Option<Help> {
    let why = format!(
        "it is below the partition, {partition}, and comes back with the old template: repair it, \
         or "
    );
    (index < partition).then(|| Help::say(why).then(lower))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_budget_is_used_up_by_some_pods_but_not_by_all() {
        let budget = |strategy: serde_json::Value, desired: i32, unavailable: i32| {
            let spec = json!({"updateStrategy": strategy});
            let spec: DaemonSetSpec = serde_json::from_value(spec).unwrap();
            let status = DaemonSetStatus {
                desired_number_scheduled: desired,
                number_unavailable: Some(unavailable),
                ..DaemonSetStatus::default()
            };
            Unavailability::of(&spec, &status).map(|budget| budget.is_used_up())
        };
        let rolling = |most: serde_json::Value, surge: i32| {
            let rolling = json!({"maxUnavailable": most, "maxSurge": surge});
            json!({"type": "RollingUpdate", "rollingUpdate": rolling})
        };
        assert_eq!(budget(rolling(json!(1), 0), 10, 0), Some(false));
        assert_eq!(budget(rolling(json!(1), 0), 10, 1), Some(true));
        assert_eq!(budget(rolling(json!(1), 0), 1, 1), Some(false));
        // 5 % of 288 is 14.4, rounded up.
        assert_eq!(budget(rolling(json!("5%"), 0), 288, 14), Some(false));
        assert_eq!(budget(rolling(json!("5%"), 0), 288, 20), Some(true));
        assert_eq!(budget(rolling(json!(0), 1), 10, 1), None);
        assert_eq!(budget(json!({"type": "OnDelete"}), 10, 1), None);
    }
}
