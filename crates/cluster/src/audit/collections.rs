//! The collections that are read of a cluster, and the part of each. Secrets and ConfigMaps are never read.

use setguard_core::kubernetes::kind::Kind;

use crate::live::reader::List;

/// A collection of objects in the API.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) api_version: &'static str,
    pub(crate) kind: Kind,
    plural: &'static str,
    pub(crate) is_namespaced: bool,
    /// Whether only the metadata is requested.
    is_bare: bool,
    /// Selectors of labels and of fields.
    labels: Option<&'static str>,
    fields: Option<&'static str>,
    /// For a kind that few rules need: the question that stays open if it may not be read. Empty if another
    /// part of the audit reports that.
    pub(crate) unknown: Option<&'static str>,
}

impl Collection {
    const fn of(kind: Kind, plural: &'static str) -> Self {
        Collection {
            api_version: kind.api_version(),
            kind,
            plural,
            is_namespaced: kind.is_namespaced(),
            is_bare: false,
            labels: None,
            fields: None,
            unknown: None,
        }
    }

    const fn or_unknown(mut self, what: &'static str) -> Self {
        self.unknown = Some(what);
        self
    }

    const fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Returns the list of the objects, in one namespace or in all.
    pub(crate) fn list(&self, namespace: Option<&str>) -> List {
        List {
            path: self.path(namespace),
            is_bare: self.is_bare,
            labels: self.labels.map(Into::into),
            fields: self.fields,
        }
    }

    fn path(&self, namespace: Option<&str>) -> String {
        let Collection { api_version, plural, .. } = self;
        let root = if api_version.contains('/') { "apis" } else { "api" };
        match namespace.filter(|_| self.is_namespaced) {
            Some(namespace) => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"),
            None => format!("/{root}/{api_version}/{plural}"),
        }
    }

    /// Returns the name, as in `kubectl get`.
    pub(crate) fn name(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) if self.is_openkruise() => format!("{}.{group}", self.plural),
            _ => self.plural.to_owned(),
        }
    }

    /// Returns whether the objects are OpenKruise's.
    pub(crate) fn is_openkruise(&self) -> bool {
        self.api_version == OPENKRUISE
    }

    /// Returns the path of a cluster-scoped object.
    pub(crate) fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.path(None))
    }
}

/// The sets. They are read first, so that an object that a set names and that is not in a later list is
/// really missing.
pub(crate) static SETS: [Collection; 2] = [
    Collection::of(Kind::DaemonSet, "daemonsets"),
    Collection::of(Kind::StatefulSet, "statefulsets"),
];

/// The API of OpenKruise's sets, and its collections, which are read where they are served.
pub(crate) const OPENKRUISE: &str = "apps.kruise.io/v1beta1";
pub(crate) static OPENKRUISE_SETS: [Collection; 2] = [
    Collection { api_version: OPENKRUISE, ..Collection::of(Kind::DaemonSet, "daemonsets") },
    Collection { api_version: OPENKRUISE, ..Collection::of(Kind::StatefulSet, "statefulsets") },
];

/// The namespaces. If only some are audited, those are read one by one.
pub(crate) static NAMESPACES: Collection = Collection::of(Kind::Namespace, "namespaces").bare();

/// The surroundings of every set.
pub(crate) static AROUND: [Collection; 11] = [
    Collection::of(Kind::PriorityClass, "priorityclasses").bare(),
    Collection::of(Kind::StorageClass, "storageclasses"),
    Collection::of(Kind::Node, "nodes"),
    Collection::of(Kind::ServiceAccount, "serviceaccounts").bare(),
    Collection::of(Kind::Service, "services"),
    Collection::of(Kind::PodDisruptionBudget, "poddisruptionbudgets"),
    Collection::of(Kind::Deployment, "deployments"),
    // The ReplicaSets of Deployments have this label, and select no pods that their Deployments do not
    // select. There are ten times as many of them as Deployments.
    Collection {
        labels: Some("!pod-template-hash"),
        ..Collection::of(Kind::ReplicaSet, "replicasets")
    },
    Collection::of(Kind::ControllerRevision, "controllerrevisions").bare(),
    Collection::of(Kind::LimitRange, "limitranges")
        .or_unknown("whether limits of their namespace refuse pods"),
    Collection::of(Kind::ResourceQuota, "resourcequotas")
        .or_unknown("whether a quota refuses pods"),
];

/// The surroundings of a set that is not healthy according to its status.
pub(crate) static UNHEALTHY: [Collection; 3] = [
    Collection::of(Kind::Pod, "pods"),
    // Their numbers are not in the metadata.
    Collection::of(Kind::ControllerRevision, "controllerrevisions"),
    Collection { fields: Some(EVENTS), ..Collection::of(Kind::Event, "events") },
];

/// All events but the most frequent ones of pods that start and end as they should.
const EVENTS: &str = "reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,\
                      reason!=Killing,reason!=SuccessfulDelete,\
                      reason!=ScalingReplicaSet,reason!=SuccessfulAttachVolume,reason!=Completed";

/// The webhook configurations. They are read only if all namespaces are audited: a user who audits some may
/// not be allowed to see more.
pub(crate) static WEBHOOKS: [Collection; 2] = [
    Collection::of(Kind::ValidatingWebhookConfiguration, "validatingwebhookconfigurations")
        .or_unknown(""),
    Collection::of(Kind::MutatingWebhookConfiguration, "mutatingwebhookconfigurations")
        .or_unknown(""),
];
pub(crate) static ENDPOINTS: Collection = Collection::of(Kind::EndpointSlice, "endpointslices")
    .or_unknown("whether webhooks can be called");

/// The storage of sets with claims.
pub(crate) static CLAIMS: Collection =
    Collection::of(Kind::PersistentVolumeClaim, "persistentvolumeclaims");
pub(crate) static VOLUMES: Collection = Collection::of(Kind::PersistentVolume, "persistentvolumes");
