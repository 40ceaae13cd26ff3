use super::workload::{Counts, StatefulSet, WorkloadState};
use crate::observed::prelude::*;
use crate::{
    kubernetes::cluster::Cluster,
    rollout::stateful_set::{Settings, Strategy},
};

/// The progress of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutStatus {
    /// How many pods have the new revision.
    pub updated: i32,
    /// How many pods must have the new revision.
    pub to_update: i32,
    /// How many pods are ready.
    pub ready: i32,
    /// How many pods are available.
    pub available: i32,
    /// How many pods must be available.
    pub wanted: i32,
    /// How many pods exist.
    pub exist: i32,
    /// Whether the rollout has ended.
    pub phase: Phase,
}

/// Whether a rollout has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The controller has not observed this generation of the spec, so the status is out of date.
    Unseen(i64),
    /// The set is being deleted.
    Deleted,
    /// The rollout continues.
    Going,
    /// The rollout has ended.
    Ended(Completion),
    /// No node gets a pod of the DaemonSet.
    NoNode,
    /// The partition covers all pods, so none of them gets the new revision.
    Covered(i64),
}

/// How a rollout ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// All pods have the new revision and are available.
    RolledOut,
    /// All pods from the partition on have the new revision and are available; the others keep the old revision.
    Partitioned {
        partition: i64,
        /// The number of pods below it.
        kept: i32,
    },
    /// All pods are available; those with an old revision get the new one when they are deleted.
    OnDelete {
        /// The number of pods with an old revision.
        kept: i32,
    },
    /// The set should have no pods.
    Empty,
}

impl Completion {
    /// Returns the value for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Completion::RolledOut => "rolled-out",
            Completion::Partitioned { .. } => "partitioned",
            Completion::OnDelete { .. } => "on-delete",
            Completion::Empty => "empty",
        }
    }
}

impl RolloutStatus {
    /// Returns the progress of a set. `allow_none` counts a set as done even if no pod gets the new revision: no node
    /// matches a DaemonSet, or a partition covers all pods.
    pub fn of(
        observed: &Observed,
        set: &WorkloadStatus,
        cluster: &Cluster,
        allow_none: bool,
    ) -> Self {
        let mut progress = match &set.state {
            WorkloadState::StatefulSet(it) => stateful_set(set, it, cluster, allow_none),
            WorkloadState::DaemonSet(_) => {
                let stale = observed.stale_pods(set).count();
                daemon_set(set, i32::try_from(stale).unwrap_or(i32::MAX), allow_none)
            }
        };
        if set.is_being_deleted() {
            progress.phase = Phase::Deleted;
        } else if !set.is_current() {
            progress.phase = Phase::Unseen(set.generation());
        } else if progress.outcome().is_some() {
            progress.correct(observed, set);
        }
        progress
    }

    /// The status counts pods that are being deleted, and is older than the pods for a moment.
    fn correct(&mut self, observed: &Observed, set: &WorkloadStatus) {
        let lacking = i32::try_from(observed.lacking(set)).unwrap_or(i32::MAX);
        self.ready = self.ready.min(self.wanted.saturating_sub(lacking));
        self.available = self.available.min(self.ready);
        if lacking > 0 || observed.misfits(set).next().is_some() {
            self.phase = Phase::Going;
        }
    }

    /// Returns the outcome of a rollout that has ended.
    pub const fn outcome(&self) -> Option<Completion> {
        match self.phase {
            Phase::Ended(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the progress as one line of text.
    pub fn text(&self) -> String {
        let RolloutStatus { updated, to_update, ready, available, wanted, exist, phase } = self;
        let counts = || format!("{updated} of {to_update} updated, {ready} of {wanted} ready");
        match phase {
            Phase::Unseen(generation) => {
                format!("the controller has not seen generation {generation} yet")
            }
            Phase::Deleted => "it is being deleted".to_owned(),
            Phase::NoNode => "no node gets a pod".to_owned(),
            Phase::Covered(_) => format!("nothing is rolled out: {ready} of {wanted} ready"),
            Phase::Ended(Completion::RolledOut) => format!("rolled out: {}", counts()),
            Phase::Ended(Completion::Empty) if *exist == 0 => {
                "rolled out: no pod is wanted".to_owned()
            }
            Phase::Ended(Completion::Empty) => format!("no pod is wanted; {exist} to be deleted"),
            Phase::Ended(Completion::Partitioned { partition, kept }) => format!(
                "rolled out down to the partition, {partition}: {}; {kept} below it keep the old \
                 revision until it is lowered",
                counts()
            ),
            Phase::Ended(Completion::OnDelete { kept }) => format!(
                "accepted: {}; with updateStrategy OnDelete, {kept} keep the old revision until they \
                 are deleted",
                counts()
            ),
            Phase::Going if available < ready => format!("{}, {available} available", counts()),
            Phase::Going if exist > wanted => {
                format!("{}, {} to be deleted", counts(), exist - wanted)
            }
            Phase::Going => counts(),
        }
    }
}

/// Unlike kubectl, requires the pods of an old revision to be ready. Kubernetes: `Status` of `StatefulSetStatusViewer`,
/// kubectl pkg/polymorphichelpers/rollout_status.go.
fn stateful_set(
    set: &WorkloadStatus,
    StatefulSet { spec, status }: &StatefulSet,
    cluster: &Cluster,
    allow_none: bool,
) -> RolloutStatus {
    let Counts { wanted, exist, ready, available, updated } = set.counts();
    let strategy = Settings::of(set.name(), spec, cluster).map(|it| it.strategy);
    let partition = match strategy {
        Some(Strategy::RollingUpdate { partition, .. }) => partition.max(0),
        _ => 0,
    };
    let kept = i32::try_from(partition).unwrap_or(i32::MAX).min(wanted);
    let is_on_delete = strategy == Some(Strategy::OnDelete);
    let old = wanted.saturating_sub(updated).max(0);
    let to_update = if is_on_delete { wanted } else { wanted - kept };
    let serves = exist == wanted && ready == wanted && available >= wanted;
    let is_new = status.current_revision != status.update_revision;
    let is_covered = is_new && wanted > 0 && to_update == 0 && updated == 0;
    let phase = if is_covered && !allow_none {
        Phase::Covered(partition)
    } else if !serves || !is_on_delete && updated < to_update {
        Phase::Going
    } else {
        Phase::Ended(match old {
            _ if wanted == 0 => Completion::Empty,
            0 => Completion::RolledOut,
            kept if is_on_delete => Completion::OnDelete { kept },
            kept => Completion::Partitioned { partition, kept },
        })
    };
    // The status also counts pods below the partition, and pods that a scale-down has yet to delete.
    let to_update = if old == 0 { wanted } else { to_update };
    let (updated, ready) = (updated.min(to_update), ready.min(wanted));
    RolloutStatus { updated, to_update, ready, available, wanted, exist, phase }
}

/// Unlike kubectl, does not count stale pods as updated. Kubernetes: `Status` of `DaemonSetStatusViewer`, kubectl
/// pkg/polymorphichelpers/rollout_status.go.
fn daemon_set(set: &WorkloadStatus, stale: i32, allow_none: bool) -> RolloutStatus {
    let Counts { wanted, exist, ready, available, updated } = set.counts();
    let (updated, is_on_delete) = (updated.saturating_sub(stale).max(0), set.is_on_delete());
    let serves = exist >= wanted && ready >= wanted && available >= wanted;
    let phase = if wanted == 0 {
        if allow_none { Phase::Ended(Completion::Empty) } else { Phase::NoNode }
    } else if !serves || !is_on_delete && updated < wanted {
        Phase::Going
    } else {
        Phase::Ended(match wanted.saturating_sub(updated) {
            ..=0 => Completion::RolledOut,
            kept => Completion::OnDelete { kept },
        })
    };
    RolloutStatus { updated, to_update: wanted, ready, available, wanted, exist, phase }
}
