//! The number of pods that an update takes down at once.

use super::{
    object::{daemon_set_status, template_changes},
    rollout::{scaled, strategy},
    stateful_sets::{max_unavailable, partition},
};
use crate::{
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
    object::{Subject, Workload},
};

/// The pods that a rollout replaces.
pub(crate) struct Wave {
    /// The pods that are down at once.
    pub(crate) down: i64,
    /// The pods that are replaced in all.
    pub(crate) replaced: i64,
    /// The pods that there are before the update.
    pub(crate) all: i64,
}

/// Returns the waves in which an update replaces pods; `None` if it replaces none, or if the old object
/// does not tell how many there are.
pub(crate) fn wave(subject: &Subject<'_>, cluster: &Cluster) -> Option<Wave> {
    pace(subject, cluster).filter(|_| template_changes(subject, cluster))
}

/// Works like [`wave`], but assumes that the update changes the template. Comparing the templates takes far
/// longer than reading the numbers.
pub(crate) fn pace(subject: &Subject<'_>, cluster: &Cluster) -> Option<Wave> {
    let old = subject.old()?;
    match &subject.object.workload {
        Workload::DaemonSet(spec) => {
            let all = i64::from(daemon_set_status(old)?.desired_number_scheduled);
            let strategy = spec.update_strategy.as_ref()?;
            if strategy.type_.as_deref() == Some("OnDelete") {
                return None;
            }
            let rolling = strategy.rolling_update.as_ref();
            let value = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
            let down = value.map_or(Some(1), |it| scaled(it, all.try_into().ok()?, true))?;
            Some(Wave { down: down.min(all), replaced: all, all })
        }
        Workload::StatefulSet(spec) => {
            let all = i64::from(old.stateful_set()?.replicas.unwrap_or(1));
            if strategy(&subject.object) == Some("Recreate") {
                return Some(Wave { down: all, replaced: all, all });
            }
            let kept = all.min(spec.replicas.unwrap_or(1).into());
            let replaced = (kept - i64::from(partition(spec)?)).max(0);
            let at_once = match cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
                true => max_unavailable(spec).unwrap_or(1),
                false => 1,
            };
            Some(Wave { down: at_once.min(replaced), replaced, all })
        }
    }
}
