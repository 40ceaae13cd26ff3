//! The collections that setguard reads. It never reads Secrets or ConfigMaps.

use crate::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    pub(crate) api_version: &'static str,
    pub(crate) kind: Kind,
    is_bare: bool,
    labels: Option<&'static str>,
    fields: Option<&'static str>,
    /// Set for kinds that few rules need: the question that stays open if access is denied. Empty if a different part
    /// of the audit reports it.
    pub(crate) unknown: Option<&'static str>,
}

impl Collection {
    pub(crate) const fn of(kind: Kind) -> Self {
        Collection {
            api_version: kind.api_version(),
            kind,
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

    pub(crate) fn list(&self, namespace: Option<&str>) -> List {
        List {
            path: self.path(namespace),
            is_bare: self.is_bare,
            labels: self.labels.map(Into::into),
            fields: self.fields,
        }
    }

    fn path(&self, namespace: Option<&str>) -> String {
        let (api_version, plural) = (self.api_version, self.plural());
        let root = if api_version.contains('/') { "apis" } else { "api" };
        match namespace.filter(|_| self.kind.is_namespaced()) {
            Some(namespace) => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"),
            None => format!("/{root}/{api_version}/{plural}"),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) if self.is_openkruise() => format!("{}.{group}", self.plural()),
            _ => self.plural(),
        }
    }

    fn plural(&self) -> String {
        let kind = self.kind.as_str().to_ascii_lowercase();
        let end = if kind.ends_with('s') { "es" } else { "s" };
        kind + end
    }

    pub(crate) fn is_openkruise(&self) -> bool {
        self.api_version == OPENKRUISE
    }

    pub(crate) fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.path(None))
    }
}

/// The audit reads sets first. If a set refers to an object that a later list does not contain, the object really is
/// missing.
pub(crate) static SETS: [Collection; 2] =
    [Collection::of(Kind::DaemonSet), Collection::of(Kind::StatefulSet)];

/// The API of OpenKruise's sets. The audit reads them only where the cluster serves them.
pub(crate) const OPENKRUISE: &str = "apps.kruise.io/v1beta1";
pub(crate) static OPENKRUISE_SETS: [Collection; 2] = [
    Collection { api_version: OPENKRUISE, ..Collection::of(Kind::DaemonSet) },
    Collection { api_version: OPENKRUISE, ..Collection::of(Kind::StatefulSet) },
];

/// If the user names namespaces, the audit reads them one by one.
pub(crate) static NAMESPACES: Collection = Collection::of(Kind::Namespace).bare();

pub(crate) static AROUND: [Collection; 11] = [
    Collection::of(Kind::PriorityClass).bare(),
    Collection::of(Kind::StorageClass),
    Collection::of(Kind::Node),
    Collection::of(Kind::ServiceAccount).bare(),
    Collection::of(Kind::Service),
    Collection::of(Kind::PodDisruptionBudget),
    Collection::of(Kind::Deployment),
    // A Deployment's ReplicaSets have this label and select no pods that the Deployment does not select. There are
    // about ten times as many of them as Deployments.
    Collection { labels: Some("!pod-template-hash"), ..Collection::of(Kind::ReplicaSet) },
    Collection::of(Kind::ControllerRevision).bare(),
    Collection::of(Kind::LimitRange).or_unknown("whether limits of their namespace refuse pods"),
    Collection::of(Kind::ResourceQuota).or_unknown("whether a quota refuses pods"),
];

/// The audit reads these for sets whose status is not healthy, or may be so only for a moment.
pub(crate) static UNHEALTHY: [Collection; 3] = [
    Collection::of(Kind::Pod),
    // The revision numbers are not in the metadata.
    Collection::of(Kind::ControllerRevision),
    Collection { fields: Some(EVENTS), ..Collection::of(Kind::Event) },
];

/// Excludes the most frequent events of pods that start and stop normally.
const EVENTS: &str = "reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,\
                      reason!=Killing,reason!=SuccessfulDelete,\
                      reason!=ScalingReplicaSet,reason!=SuccessfulAttachVolume,reason!=Completed";

/// Read only if the audit covers all namespaces: a user who audits some may not have the right to read more.
pub(crate) static WEBHOOKS: [Collection; 2] = [
    Collection::of(Kind::ValidatingWebhookConfiguration).or_unknown(""),
    Collection::of(Kind::MutatingWebhookConfiguration).or_unknown(""),
];
pub(crate) static ENDPOINTS: Collection =
    Collection::of(Kind::EndpointSlice).or_unknown("whether webhooks can be called");

pub(crate) static CLAIMS: Collection = Collection::of(Kind::PersistentVolumeClaim);
pub(crate) static VOLUMES: Collection = Collection::of(Kind::PersistentVolume);
