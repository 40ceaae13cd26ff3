use super::{
    object::{daemon_set_status, stateful_set_status},
    scaled,
    stateful_sets::{max_unavailable, partition},
};
use crate::rules::prelude::*;

/// The pods that a rollout replaces.
#[derive(Clone, Copy, Debug)]
pub struct Wave {
    /// How many pods are down at once, including pods that were already down.
    pub down: i64,
    /// How many pods are replaced in all.
    pub replaced: i64,
    /// How many pods exist before the update.
    pub all: i64,
    /// Why pods are replaced.
    pub cause: Cause,
}

/// Why an update replaces pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The template changes.
    Template,
    /// Some pods have an older template, and the new strategy replaces more of them, or more at once.
    Strategy,
    /// As with `Strategy`, but no status shows how many pods have an older template, so all count as old.
    StrategyUnobserved,
}

impl Cause {
    pub(crate) fn field(self) -> Field {
        let name = if self == Cause::Template { "template" } else { "updateStrategy" };
        SPEC.child(name).to_field()
    }

    /// Ends a message about replaced pods.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Cause::Template => "",
            Cause::Strategy => ", because they have an older template",
            Cause::StrategyUnobserved => {
                ", because they may have an older template: no status of the last change says how many do"
            }
        }
    }
}

/// The waves of replaced pods in an update, from the pods that are old by then and the new strategy. `None` if no more
/// pods go down than without the update, or if the old object does not show how many there are.
pub(crate) fn wave(subject: &Subject<'_>, cluster: &Cluster) -> Option<Wave> {
    let old = subject.old()?;
    let pods = Pods::of(old)?;
    let (outdated, cause) = match pods.outdated {
        _ if subject.template_changes(cluster) => (Outdated::ALL, Cause::Template),
        Some(outdated) => (outdated, Cause::Strategy),
        // A share of more pods is no other strategy.
        None if is_same_strategy(&subject.object, old) => return None,
        None => (Outdated::ALL, Cause::StrategyUnobserved),
    };
    let after = pods.wave(&subject.object, outdated, cause, cluster)?;
    let before = match cause {
        // A new template begins a rollout of its own.
        Cause::Template => pods.unavailable,
        Cause::Strategy | Cause::StrategyUnobserved => {
            pods.wave(old, outdated, cause, cluster).map_or(0, |it| it.down)
        }
    };
    (after.down > before).then_some(after)
}

fn is_same_strategy<T, U>(new: &Object<'_, T>, old: &Object<'_, U>) -> bool {
    match (&new.workload, &old.workload) {
        (Workload::DaemonSet(new), Workload::DaemonSet(old)) => {
            new.update_strategy == old.update_strategy
        }
        (Workload::StatefulSet(new), Workload::StatefulSet(old)) => {
            new.update_strategy == old.update_strategy
        }
        _ => false,
    }
}

/// The largest waves that an update with this strategy can have: the waves of a changed template. Unlike a comparison
/// of the templates, this reads only a few numbers.
pub(crate) fn pace(subject: &Subject<'_>, cluster: &Cluster) -> Option<Wave> {
    let pods = Pods::of(subject.old()?)?;
    pods.wave(&subject.object, Outdated::ALL, Cause::Template, cluster)
}

/// Returns whether a new template, or a strategy that replaces more of the old pods, begins to replace pods.
pub(crate) fn begins(subject: &Subject<'_>, cluster: &Cluster) -> bool {
    subject.template_changes(cluster) || {
        let Some((old, pods)) = subject.old().and_then(|old| Some((old, Pods::of(old)?))) else {
            return false;
        };
        let outdated = pods.outdated.unwrap_or(Outdated::ALL);
        let before = pods.wave(old, outdated, Cause::Strategy, cluster);
        let after = pods.wave(&subject.object, outdated, Cause::Strategy, cluster);
        after.is_some_and(|it| it.replaced > before.map_or(0, |before| before.replaced))
    }
}

/// The pods of a set before an update, as its status counts them.
struct Pods {
    all: i64,
    unavailable: i64,
    /// `None` if the controller has not observed the last change yet, and in a manifest.
    outdated: Option<Outdated>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outdated {
    count: i64,
    /// Old pods may be any pods, not just the first ones.
    are_scattered: bool,
}

impl Outdated {
    const ALL: Self = Outdated { count: i64::MAX, are_scattered: true };
}

impl Pods {
    fn of<T>(object: &Object<'_, T>) -> Option<Self> {
        let (all, counts, observed, is_known) = match &object.workload {
            Workload::DaemonSet(_) => {
                let status = daemon_set_status(object)?;
                let all = status.desired_number_scheduled;
                let updated = status.updated_number_scheduled.unwrap_or_default();
                let outdated = status.current_number_scheduled.saturating_sub(updated);
                let unavailable = status.number_unavailable.unwrap_or_default();
                (all, [unavailable, outdated], status.observed_generation, true)
            }
            Workload::StatefulSet(spec) => {
                let status = stateful_set_status(object);
                let is_known = status.is_some();
                let status = status.unwrap_or_default();
                let (pods, available) = (status.replicas, status.available_replicas);
                let available = available.or(status.ready_replicas).unwrap_or_default();
                let outdated = pods.saturating_sub(status.updated_replicas.unwrap_or_default());
                let counts = [pods.saturating_sub(available), outdated];
                (spec.replicas.unwrap_or(1), counts, status.observed_generation, is_known)
            }
        };
        let [unavailable, outdated] = counts.map(|it| i64::from(it.clamp(0, all.max(0))));
        let are_scattered = object.strategy() == Some("OnDelete");
        let generation = object.metadata.generation;
        let is_current = match observed {
            Some(observed) => observed >= generation.unwrap_or_default(),
            // A test or a person has written the status.
            None => is_known && generation.is_none(),
        };
        // In the first generation, the template has never changed.
        let never_changed = || (generation == Some(1)).then(Outdated::default);
        let outdated = is_current.then_some(Outdated { count: outdated, are_scattered });
        let outdated = outdated.or_else(never_changed);
        Some(Pods { all: all.into(), unavailable, outdated })
    }

    fn wave<T>(
        &self,
        object: &Object<'_, T>,
        outdated: Outdated,
        cause: Cause,
        cluster: &Cluster,
    ) -> Option<Wave> {
        let all = self.all;
        let (at_once, replaced) = match (&object.workload, object.strategy()) {
            (_, Some("OnDelete")) => (0, 0),
            (Workload::DaemonSet(spec), _) => {
                let rolling = spec.update_strategy.as_ref()?.rolling_update.as_ref();
                let value = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
                let at_once = value.map_or(Some(1), |it| scaled(it, all.try_into().ok()?, true))?;
                (at_once, outdated.count.min(all))
            }
            (Workload::StatefulSet(_), Some("Recreate")) => (all, outdated.count.min(all)),
            (Workload::StatefulSet(spec), _) => {
                let partition = i64::from(partition(spec)?);
                let above = (all.min(spec.replicas.unwrap_or(1).into()) - partition).max(0);
                // The pods below the partition are the first to be old.
                let below = if outdated.are_scattered { 0 } else { partition };
                let replaced = (outdated.count - below).clamp(0, above);
                let at_once = match cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) {
                    true => max_unavailable(spec).unwrap_or(1),
                    false => 1,
                };
                (at_once, replaced)
            }
        };
        // The controllers also count pods that are already down.
        let most = (self.unavailable + replaced).min(all);
        Some(Wave { down: at_once.max(self.unavailable).min(most), replaced, all, cause })
    }
}
