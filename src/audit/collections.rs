//! What is read of a cluster: which kinds, and how much of them. Never Secrets or ConfigMaps.

use crate::live::reader::List;

/// Objects of a kind, as the API server has them.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    plural: &'static str,
    pub(crate) is_namespaced: bool,
    /// Whether the metadata is enough.
    is_bare: bool,
    /// Selectors of labels and of fields.
    labels: Option<&'static str>,
    fields: Option<&'static str>,
    /// The answer that is not known if it may not be read, for a kind that few rules need. Empty if the guard says it.
    pub(crate) unknown: Option<&'static str>,
}

impl Collection {
    const fn of(api_version: &'static str, kind: &'static str, plural: &'static str) -> Self {
        Collection {
            api_version,
            kind,
            plural,
            is_namespaced: true,
            is_bare: false,
            labels: None,
            fields: None,
            unknown: None,
        }
    }

    const fn in_no_namespace(mut self) -> Self {
        self.is_namespaced = false;
        self
    }

    const fn or_unknown(mut self, what: &'static str) -> Self {
        self.unknown = Some(what);
        self
    }

    const fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Its list, in one namespace or in all.
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

    /// Its name, as in `kubectl get`.
    pub(crate) fn name(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) if self.is_openkruise() => format!("{}.{group}", self.plural),
            _ => self.plural.to_owned(),
        }
    }

    /// Whether its objects are OpenKruise's.
    pub(crate) fn is_openkruise(&self) -> bool {
        self.api_version == OPENKRUISE
    }

    /// The path of an object that is in no namespace.
    pub(crate) fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.path(None))
    }
}

/// The kinds that are evaluated. They are read first: what another kind then does not have is missing.
pub(crate) static SETS: [Collection; 2] = [
    Collection::of("apps/v1", "DaemonSet", "daemonsets"),
    Collection::of("apps/v1", "StatefulSet", "statefulsets"),
];

/// The group of OpenKruise's sets, and what is evaluated of it where it is served.
pub(crate) const OPENKRUISE: &str = "apps.kruise.io/v1beta1";
pub(crate) static OPENKRUISE_SETS: [Collection; 2] = [
    Collection::of(OPENKRUISE, "DaemonSet", "daemonsets"),
    Collection::of(OPENKRUISE, "StatefulSet", "statefulsets"),
];

/// Namespaces. If only some are audited, those are read one by one.
pub(crate) static NAMESPACES: Collection =
    Collection::of("v1", "Namespace", "namespaces").in_no_namespace().bare();

/// What matters to every set.
pub(crate) static AROUND: [Collection; 9] = [
    Collection::of("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses")
        .in_no_namespace()
        .bare(),
    Collection::of("storage.k8s.io/v1", "StorageClass", "storageclasses").in_no_namespace(),
    Collection::of("v1", "Node", "nodes").in_no_namespace(),
    Collection::of("v1", "ServiceAccount", "serviceaccounts").bare(),
    Collection::of("v1", "Service", "services"),
    Collection::of("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    Collection::of("apps/v1", "Deployment", "deployments"),
    // A ReplicaSet of a Deployment has this label, and selects nothing that its Deployment does not
    // select. There are ten times as many of them as of Deployments.
    Collection {
        labels: Some("!pod-template-hash"),
        ..Collection::of("apps/v1", "ReplicaSet", "replicasets")
    },
    Collection::of("apps/v1", "ControllerRevision", "controllerrevisions").bare(),
];

/// What matters to a set that is not healthy by its status.
pub(crate) static UNHEALTHY: [Collection; 3] = [
    Collection::of("v1", "Pod", "pods"),
    // Their numbers are not in the metadata.
    Collection::of("apps/v1", "ControllerRevision", "controllerrevisions"),
    Collection { fields: Some("type=Warning"), ..Collection::of("v1", "Event", "events") },
];

/// The quotas of a namespace with a set that is not healthy.
pub(crate) static QUOTAS: Collection = Collection::of("v1", "ResourceQuota", "resourcequotas")
    .or_unknown("whether a quota still refuses pods");

/// Who is asked before a pod is created, and where. Only read if all namespaces are audited: who audits some
/// may not be allowed to see more.
const REGISTRATION: &str = "admissionregistration.k8s.io/v1";
pub(crate) static WEBHOOKS: [Collection; 2] = [
    Collection::of(
        REGISTRATION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    )
    .in_no_namespace()
    .or_unknown(""),
    Collection::of(REGISTRATION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
        .in_no_namespace()
        .or_unknown(""),
];
pub(crate) static ENDPOINTS: Collection =
    Collection::of("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
        .or_unknown("whether webhooks can be called");

/// What matters to sets with claims.
pub(crate) static CLAIMS: Collection =
    Collection::of("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
pub(crate) static VOLUMES: Collection =
    Collection::of("v1", "PersistentVolume", "persistentvolumes").in_no_namespace();
