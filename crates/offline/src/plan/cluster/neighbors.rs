//! Facts about a set that do not change the steps of its rollout.

use setguard_core::kubernetes::int_or_percent::scaled;

use super::{Labels, PlannedCluster, SetQuery};
use crate::prelude::*;

/// A PodDisruptionBudget that allows fewer evictions than a rollout takes down.
#[derive(Debug)]
pub(crate) struct OverBudget {
    pub(crate) name: Box<str>,
    pub(crate) allowed: i64,
}

impl PlannedCluster {
    /// Returns whether the input has pods of a set, but none of its revisions.
    pub(crate) fn lacks_revisions(&self, set: &SetQuery<'_>) -> bool {
        self.templates(set).is_empty() && self.pods(set).is_some_and(|pods| !pods.is_empty())
    }

    /// Returns whether a pod certainly has a different template. `revision` is the revision of the template, if one
    /// exists.
    pub(crate) fn is_of_another(
        &self,
        set: &SetQuery<'_>,
        pod: &Pod,
        revision: Option<&str>,
    ) -> bool {
        match revision {
            Some(revision) => !pod.is_of(revision),
            None => self.templates(set).iter().any(|own| pod.is_of(&own.on_pods)),
        }
    }

    /// Returns the known seconds from creation to readiness of a set's pods. Pods with a restarted container don't
    /// count: their readiness is more recent.
    pub(crate) fn times_to_ready(&self, set: &SetQuery<'_>) -> Vec<i64> {
        let pods = self.pods(set).unwrap_or_default();
        let took = pods.iter().filter_map(|Member { pod, .. }| match pod.ready {
            (true, since) if pod.restarts == 0 && pod.created > 0 => Some(since - pod.created),
            _ => None,
        });
        took.filter(|seconds| *seconds >= 0).collect()
    }

    /// Returns the PodDisruptionBudgets for pods with these labels that would allow fewer evictions than `down` if all
    /// pods were healthy. `replicas` is `None` for a DaemonSet: it has no scale, and the disruption controller
    /// computes no percentages for it.
    ///
    /// Kubernetes: `getExpectedPodCount`, pkg/controller/disruption/disruption.go.
    pub(crate) fn over_budgets(
        &self,
        set: &SetQuery<'_>,
        labels: Option<&Labels>,
        replicas: Option<i32>,
        down: usize,
    ) -> Vec<OverBudget> {
        let down = i64::try_from(down).unwrap_or(i64::MAX);
        let of_namespace = self.budgets.values().filter(|it| *it.namespace == *set.id.namespace);
        let over = of_namespace.filter(|it| it.selects(labels)).filter_map(|it| {
            let total = i64::from(replicas?);
            let part = |value| scaled(value, replicas?, true);
            let allowed = match (&it.min_available, &it.max_unavailable) {
                (Some(least), _) => total - part(least)?,
                (None, Some(most)) => part(most)?.min(total),
                (None, None) => return None,
            };
            let (name, allowed) = (it.name.clone(), allowed.max(0));
            (down > allowed).then_some(OverBudget { name, allowed })
        });
        over.collect()
    }
}
