//! The kinds that are watched. Never Pods, ReplicaSets, Secrets or ConfigMaps: there are too many of
//! them, or they are nobody else's business.

use super::args::Mode;
use crate::inventory::kind::Kind;

/// A kind, and where the API server has it.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) kind: Kind,
    /// For example `/apis/apps/v1`.
    api: &'static str,
    /// For example `daemonsets`.
    plural: &'static str,
    /// The smallest mode that includes it.
    from: Mode,
}

impl Watched {
    /// The path of its collection, in one namespace or in all.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let Watched { api, plural, .. } = self;
        match namespace {
            Some(namespace) => format!("{api}/namespaces/{namespace}/{plural}"),
            None => format!("{api}/{plural}"),
        }
    }
}

const fn kind(kind: Kind, api: &'static str, plural: &'static str, from: Mode) -> Watched {
    Watched { kind, api, plural, from }
}

/// Small ones first: the sooner a kind is complete, the sooner its rules are heard.
static KINDS: [Watched; 9] = [
    kind(Kind::PriorityClass, "/apis/scheduling.k8s.io/v1", "priorityclasses", Mode::Workloads),
    kind(Kind::StorageClass, "/apis/storage.k8s.io/v1", "storageclasses", Mode::Workloads),
    kind(Kind::Namespace, "/api/v1", "namespaces", Mode::Workloads),
    kind(Kind::DaemonSet, "/apis/apps/v1", "daemonsets", Mode::Workloads),
    kind(Kind::StatefulSet, "/apis/apps/v1", "statefulsets", Mode::Workloads),
    kind(Kind::PodDisruptionBudget, "/apis/policy/v1", "poddisruptionbudgets", Mode::Workloads),
    kind(Kind::Service, "/api/v1", "services", Mode::Workloads),
    kind(Kind::Node, "/api/v1", "nodes", Mode::Full),
    kind(Kind::Deployment, "/apis/apps/v1", "deployments", Mode::Full),
];

/// The kinds of a mode. With Roles in some namespaces only, what is in no namespace cannot be read.
pub(super) fn of(mode: Mode, cluster_wide: bool) -> impl Iterator<Item = &'static Watched> {
    KINDS.iter().filter(move |it| it.from <= mode && (cluster_wide || it.kind.is_namespaced()))
}
