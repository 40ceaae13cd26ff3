//! The kinds that the view watches. It never watches Pods, ReplicaSets, Secrets and ConfigMaps: they are too many, or
//! their content is private.

use super::args::Mode;
use crate::prelude::*;

/// Small kinds come first: once a kind is complete, its rules can report.
const KINDS: [(Kind, Mode); 9] = [
    (Kind::PriorityClass, Mode::Workloads),
    (Kind::StorageClass, Mode::Workloads),
    (Kind::Namespace, Mode::Workloads),
    (Kind::DaemonSet, Mode::Workloads),
    (Kind::StatefulSet, Mode::Workloads),
    (Kind::PodDisruptionBudget, Mode::Workloads),
    (Kind::Service, Mode::Workloads),
    (Kind::Node, Mode::Full),
    (Kind::Deployment, Mode::Full),
];

/// Returns the kinds of a mode. Roles in some namespaces do not allow reading cluster-scoped objects.
pub(super) fn of(mode: Mode, cluster_wide: bool) -> impl Iterator<Item = Kind> {
    let kinds = KINDS.into_iter().filter(move |(_, from)| *from <= mode).map(|(kind, _)| kind);
    kinds.filter(move |kind| cluster_wide || kind.is_namespaced())
}
