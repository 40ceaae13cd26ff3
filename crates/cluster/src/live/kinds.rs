//! The kinds that the view watches. It never watches Pods, ReplicaSets, Secrets and ConfigMaps: they are too many, or
//! their content is private.

use setguard_core::kubernetes::kind::Kind;

use super::args::Mode;

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) kind: Kind,
    /// The prefix of the path, for example `/apis/apps/v1`.
    api: &'static str,
    /// The last part of the path, for example `daemonsets`.
    plural: &'static str,
    from: Mode,
}

impl Watched {
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

/// Small kinds come first: once a kind is complete, its rules can report.
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

/// Returns the kinds of a mode. Roles in some namespaces do not allow reading cluster-scoped objects.
pub(super) fn of(mode: Mode, cluster_wide: bool) -> impl Iterator<Item = &'static Watched> {
    KINDS.iter().filter(move |it| it.from <= mode && (cluster_wide || it.kind.is_namespaced()))
}
