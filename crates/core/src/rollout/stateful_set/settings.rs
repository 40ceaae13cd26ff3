use std::ops::Range;

use super::super::Health;
use crate::{
    kubernetes::{
        cluster::{Cluster, MAX_UNAVAILABLE_STATEFUL_SET, Version, since},
        int_or_percent::scaled,
    },
    object::StatefulSetSpec,
};

/// From this release on, a pod that is ready but not available is unhealthy. In earlier releases, an update of parallel
/// pods waits only until the pods are ready, and an ordered set never deletes a pod outside its range between being
/// ready and being available.
///
/// Kubernetes: `isHealthy`, later `isUnavailable`, pkg/controller/statefulset/stateful_set_utils.go.
const READY_IS_NOT_HEALTHY: Version = Version::of_minor(34);

/// The settings of the new spec.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The range of the set's ordinals.
    pub ordinals: Range<i64>,
    /// How old pods are replaced.
    pub strategy: Strategy,
    /// Whether pods are created and deleted one after the other: `podManagementPolicy`.
    pub is_ordered: bool,
    /// How many seconds a pod must be ready to count as available.
    pub min_ready_seconds: i64,
    /// Even if the pod is not available.
    ready_is_healthy: bool,
    /// Whether the type `RollingUpdate` is written without the block `rollingUpdate`. The API server then leaves it out.
    pub is_bare: bool,
    /// Whether an update of parallel pods begins with the unavailable ones.
    pub unavailable_first: bool,
    /// For each claim template, the name of the volume and the name of the claim up to the pod's ordinal.
    claims: Vec<(String, String)>,
    /// Whether claims are deleted when the set is scaled down.
    pub deletes_claims: bool,
}

/// A patch that writes the block `rollingUpdate` of a bare strategy.
pub const COMPLETE: &str = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;

/// How old pods are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Old pods are replaced only after somebody deletes them.
    OnDelete,
    /// All old pods are deleted at once, before any new one is created.
    Recreate,
    /// Old pods are replaced from the last to the first.
    RollingUpdate {
        /// Pods below this index stay as they are. The first pod has index 0, whatever its ordinal.
        partition: i64,
        /// The number of pods that may be unavailable at once. `None` if the feature is off; then only the pods after
        /// the next one have to be available.
        max_unavailable: Option<i64>,
    },
}

impl Settings {
    /// Reads a spec with its defaults, of the set with this name. Returns `None` if the update strategy is unknown.
    pub fn of<T>(name: &str, spec: &StatefulSetSpec<T>, cluster: &Cluster) -> Option<Self> {
        let replicas = spec.replicas.unwrap_or(1).max(0);
        let strategy = spec.update_strategy.as_ref();
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let is_ordered = spec.pod_management_policy.as_deref() != Some("Parallel");
        let claims = spec.volume_claim_templates.iter().flatten();
        let claims = claims.map(|it| {
            let volume = it.metadata.name.clone().unwrap_or_default();
            let prefix = format!("{volume}-{name}-");
            (volume, prefix)
        });
        let retention = spec.persistent_volume_claim_retention_policy.as_ref();
        Some(Settings {
            ordinals: ordinals(spec),
            strategy: match strategy.and_then(|it| it.type_.as_deref()) {
                Some("OnDelete") => Strategy::OnDelete,
                Some("Recreate") => Strategy::Recreate,
                Some("RollingUpdate") | None => Strategy::RollingUpdate {
                    partition: partition(spec).unwrap_or(0).into(),
                    max_unavailable: cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET).then(|| {
                        let value = rolling.and_then(|it| it.max_unavailable.as_ref());
                        value.and_then(|it| scaled(it, replicas, false)).unwrap_or(1).max(1)
                    }),
                },
                Some(_) => return None,
            },
            is_ordered,
            is_bare: rolling.is_none(),
            ready_is_healthy: !cluster.has(READY_IS_NOT_HEALTHY),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0).into(),
            unavailable_first: !is_ordered && cluster.has(since::REPLACES_UNAVAILABLE_FIRST),
            claims: claims.collect(),
            deletes_claims: retention.and_then(|it| it.when_scaled.as_deref()) == Some("Delete"),
        })
    }

    /// The controller goes on without waiting for a pod in this state. Ordered pods must always be available.
    pub(super) fn suffices(&self, health: Health) -> bool {
        health == Health::Available || !self.is_ordered && self.is_healthy(health)
    }

    /// Of the pods outside the range, only the first unhealthy one may be deleted before it is available.
    pub(super) fn is_healthy(&self, health: Health) -> bool {
        let is_ready = matches!(health, Health::Ready(_)) && self.ready_is_healthy;
        is_ready || health == Health::Available
    }

    /// Returns whether the controller makes a missing pod from the old template while this many other pods have it and
    /// are not terminating.
    ///
    /// Kubernetes: `newVersionedStatefulSetPod`, pkg/controller/statefulset/stateful_set_utils.go.
    pub fn creates_old(&self, ordinal: i64, others: usize) -> bool {
        match self.strategy {
            Strategy::OnDelete | Strategy::Recreate => false,
            Strategy::RollingUpdate { .. } if self.is_bare => {
                ordinal - self.ordinals.start < i64::try_from(others).unwrap_or(i64::MAX)
            }
            Strategy::RollingUpdate { .. } => ordinal < self.replaced().start,
        }
    }

    /// Returns the names of a pod's claims.
    pub fn claims_of(&self, ordinal: i64) -> impl Iterator<Item = String> + '_ {
        self.claims.iter().map(move |(_, name)| format!("{name}{ordinal}"))
    }

    /// Returns whether a pod has the volumes of all claim templates. `claims` contains the names of the pod's volumes,
    /// each with its claim. Kubernetes: `storageMatches`, pkg/controller/statefulset/stateful_set_utils.go.
    pub fn fits(&self, ordinal: i64, claims: &[(Box<str>, Box<str>)]) -> bool {
        self.claims.iter().all(|(volume, name)| {
            let is_it = |(of, claim): &(Box<str>, Box<str>)| {
                let number = claim.strip_prefix(name.as_str());
                **of == **volume && number.is_some_and(|it| *it == ordinal.to_string())
            };
            claims.iter().any(is_it)
        })
    }

    /// Returns whether pods made with `other` have the volumes of all claim templates of these settings.
    pub fn fit_pods_of(&self, other: &Settings) -> bool {
        self.claims.iter().all(|claim| other.claims.contains(claim))
    }

    /// Returns the ordinals of the pods that an update replaces.
    pub fn replaced(&self) -> Range<i64> {
        match self.strategy {
            Strategy::OnDelete => self.ordinals.end..self.ordinals.end,
            Strategy::Recreate => self.ordinals.clone(),
            Strategy::RollingUpdate { partition, .. } => replaced(&self.ordinals, partition),
        }
    }
}

/// Returns the ordinals of a StatefulSet's pods. Kubernetes: `getStartOrdinal`, `getEndOrdinal`,
/// pkg/controller/statefulset/stateful_set_utils.go.
pub fn ordinals<T>(spec: &StatefulSetSpec<T>) -> Range<i64> {
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0).into();
    start..start + i64::from(spec.replicas.unwrap_or(1).max(0))
}

/// Returns the index below which a rolling update leaves pods as they are; `None` for other strategies.
pub fn partition<T>(spec: &StatefulSetSpec<T>) -> Option<i32> {
    let strategy = spec.update_strategy.as_ref();
    let strategy = strategy.filter(|it| it.type_.as_deref() == Some("RollingUpdate"))?;
    Some(strategy.rolling_update.as_ref().and_then(|rolling| rolling.partition).unwrap_or(0))
}

/// Returns the ordinals of the pods that a rolling update with this partition replaces. The partition counts from the
/// first pod, whatever its ordinal. Kubernetes: `updateStatefulSet`,
/// pkg/controller/statefulset/stateful_set_control.go.
pub fn replaced(ordinals: &Range<i64>, partition: i64) -> Range<i64> {
    ordinals.start.saturating_add(partition).min(ordinals.end)..ordinals.end
}
