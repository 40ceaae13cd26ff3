//! The number of pods that an update takes down at once.

use crate::{
    kubernetes::cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET},
    object::{Subject, Workload},
    rules::traps::read::{self, scaled},
};

/// The pods that a rollout takes down at once, and all of them.
pub(super) struct Wave {
    pub(super) down: i64,
    pub(super) all: i64,
}

/// Returns the waves in which an update replaces pods; `None` if it replaces none, or if the old object
/// does not tell how many there are.
pub(super) fn wave(subject: &Subject<'_>, cluster: &Cluster) -> Option<Wave> {
    let old = subject.old()?;
    if !read::template_changes(subject, cluster) {
        return None;
    }
    match &subject.object.workload {
        Workload::DaemonSet(spec) => {
            let all = i64::from(read::daemon_set_status(old)?.desired_number_scheduled);
            let strategy = spec.update_strategy.as_ref()?;
            if strategy.type_.as_deref() == Some("OnDelete") {
                return None;
            }
            let rolling = strategy.rolling_update.as_ref();
            let value = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
            let down = value.map_or(Some(1), |it| scaled(it, all.try_into().ok()?, true))?;
            Some(Wave { down: down.min(all), all })
        }
        Workload::StatefulSet(spec) => {
            let all = i64::from(old.stateful_set()?.replicas.unwrap_or(1));
            if read::strategy(&subject.object) == Some("Recreate") {
                return Some(Wave { down: all, all });
            }
            let updated = (all - i64::from(read::partition(spec)?)).max(0);
            let at_once = match cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
                true => read::max_unavailable(spec).unwrap_or(1),
                false => 1,
            };
            Some(Wave { down: at_once.min(updated), all })
        }
    }
}
