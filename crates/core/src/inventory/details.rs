//! Data about a DaemonSet or StatefulSet that rules need only to report findings about it.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Toleration, Volume};
use memchr::memmem;

use super::{
    access::{self, Need},
    configs::{Order, Use},
    demand::Demand,
    hosts::{self, Lookups},
    links,
    object_summary::NamedPort,
    removed_keys::RemovedKey,
    resources::Resources,
    system::System,
    traffic::Traffic,
    waits::{Wait, is_host},
    zones,
};
use crate::inventory::prelude::*;
use crate::{
    finding::paths::CLAIM_TEMPLATES,
    kubernetes::{int_or_percent::scaled, pod_security::FailedCheck},
    object::{
        DaemonSetSpec, Object, StatefulSetSpec, Workload,
        annotations::{EXCEED_ANNOTATION, IGNORE_ANNOTATION},
        storage::OLD_CLASS_ANNOTATION,
    },
};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Details {
    pub(crate) ignore: Option<Box<str>>,
    pub(crate) exceed: Option<Box<str>>,
    /// Zero for a DaemonSet.
    pub(crate) replicas: i32,
    /// Whether the manifest sets `replicas`.
    pub(crate) sets_replicas: bool,
    /// How the pods depend on the zones of their nodes.
    pub(crate) zones: Option<&'static str>,
    /// The Service of a StatefulSet; never empty.
    pub(crate) service_name: Option<Box<str>>,
    /// Whether the template shows that the pods of a StatefulSet know their DNS names.
    pub(crate) uses_names: bool,
    pub(crate) service_account: Option<Box<str>>,
    /// Whether containers get the ServiceAccount's token. `None` if the ServiceAccount decides.
    pub(crate) mounts_token: Option<bool>,
    /// The rights that the images need.
    pub(crate) needs: Box<[&'static Need]>,
    pub(crate) priority_class: Option<Box<str>>,
    pub(crate) runtime_class: Option<Box<str>>,
    /// Whether containers get environment variables for the Services of the namespace.
    pub(crate) has_service_links: bool,
    /// The variables of Services that images misread, each with the field of the image.
    pub(crate) misread: Box<[(Field, &'static str)]>,
    /// A name that a StatefulSet's first pod waits for, although the name only exists after that pod is ready.
    pub(crate) waits: Option<Box<Wait>>,
    /// The storage classes in the claim templates, each with the index of its template.
    pub(crate) storage_classes: Box<[(usize, Box<str>)]>,
    pub(crate) default_classes: Box<[usize]>,
    /// A demand that not every class meets, with the index of its claim template.
    pub(crate) claim_needs: Box<[(usize, ClaimNeed)]>,
    /// The violations of the Pod Security Standards. Set only before the template is dropped.
    pub(crate) refusals: Box<[FailedCheck]>,
    /// The storage that each claim template requests.
    pub(crate) claims: Box<[Option<Quantity>]>,
    /// Set only before the template is dropped.
    pub(crate) demand: Box<[Demand]>,
    /// The named ports of the containers. Set only before the template is dropped.
    pub(crate) ports: Box<[NamedPort]>,
    /// Set only before the template is dropped.
    pub(crate) configs: Box<[Use]>,
    /// Keys that the programs no longer have. Set only before the template is dropped.
    pub(crate) removed_keys: Box<[&'static RemovedKey]>,
    /// Set only before the template is dropped.
    pub(crate) traffic: Option<Box<Traffic>>,
    /// When the set is applied.
    pub(crate) order: Option<Box<Order>>,
    pub(crate) lookups: Option<Box<Lookups>>,
    /// Whether an update replaces all pods of a DaemonSet at once.
    pub(crate) replaces_all: bool,
    /// Empty for a StatefulSet.
    pub(crate) tolerations: Box<[Toleration]>,
    pub(crate) requests: Resources,
    pub(crate) system: Option<System>,
    /// The nodes where the pods may run, and the field that restricts them. `None` for all nodes.
    pub(crate) nodes: Option<(&'static str, Nodes)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimNeed {
    /// A volume with certain labels.
    Selector,
    /// A file system that pods on several nodes write.
    ManyWriters,
}

impl Details {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let mut details = match &object.workload {
            Workload::DaemonSet(spec) => {
                Details { replaces_all: replaces_all(spec), ..Details::default() }
            }
            Workload::StatefulSet(spec) => Details::of_stateful_set(spec, object.name()),
        };
        details.ignore = object.metadata.annotation(IGNORE_ANNOTATION).map(Into::into);
        let order = Order::of(|key| object.metadata.annotation(key));
        details.order = (order != Order::default()).then(|| Box::new(order));
        details.exceed = object.metadata.annotation(EXCEED_ANNOTATION).map(Into::into);
        if let Some(pod) = &object.template().spec {
            details.service_account = text(pod.service_account_name.as_ref());
            details.mounts_token = mounts_token(pod);
            details.needs = access::needs(pod);
            if matches!(object.workload, Workload::DaemonSet(_)) {
                details.tolerations = pod.tolerations.clone().unwrap_or_default().into();
            }
            details.lookups = Lookups::of(pod);
            details.priority_class = text(pod.priority_class_name.as_ref());
            details.runtime_class = text(pod.runtime_class_name.as_ref());
            details.requests = Resources::of_pod(pod);
            details.system = System::of(pod);
            details.has_service_links = pod.enable_service_links != Some(false);
            if details.has_service_links {
                details.misread = links::misread(pod);
            }
            let field = if pod.node_selector.as_ref().is_some_and(|selector| !selector.is_empty()) {
                "nodeSelector"
            } else if pod.affinity.is_some() {
                "affinity"
            } else {
                "nodeName"
            };
            let nodes = Some(Nodes::of(pod)).filter(|nodes| *nodes != Nodes::default());
            details.nodes = nodes.map(|nodes| (field, nodes));
        }
        details
    }

    fn of_stateful_set(spec: &StatefulSetSpec, name: &str) -> Self {
        let service_name = text(spec.service_name.as_ref());
        let pod = spec.template.spec.as_ref();
        let uses_names = service_name.as_ref().zip(pod).is_some_and(|(service, pod)| {
            spec.replicas.is_some_and(|replicas| replicas > 1) && mentions(pod, service, name)
        });
        let claims = spec.volume_claim_templates.iter().flatten().enumerate();
        let storage = claims.clone().map(|(_, claim)| {
            claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage").cloned()
        });
        let storage_classes = claims.clone().filter_map(|(i, claim)| {
            let class = claim.spec.as_ref()?.storage_class_name.as_ref();
            Some((i, text(class)?))
        });
        let claim_needs =
            claims.clone().flat_map(|(i, it)| ClaimNeed::all(it).map(move |it| (i, it)));
        let default_classes = claims.filter(|(_, claim)| gets_default_class(claim));
        Details {
            replicas: spec.replicas.unwrap_or(1),
            service_name,
            uses_names,
            zones: pod.and_then(zones::required),
            waits: Wait::of(spec, name).map(Box::new),
            claims: storage.collect(),
            storage_classes: storage_classes.collect(),
            claim_needs: claim_needs.collect(),
            default_classes: default_classes.map(|(i, _)| i).collect(),
            ..Details::default()
        }
    }

    pub(crate) fn allowed_nodes(&self) -> Cow<'_, Nodes> {
        match &self.nodes {
            Some((_, nodes)) => Cow::Borrowed(nodes),
            None => Cow::Owned(Nodes::default()),
        }
    }

    pub(crate) fn claim_field(template: usize) -> Field {
        CLAIM_TEMPLATES.index(template).child("spec").to_field()
    }

    pub(crate) fn storage_class_field(template: usize) -> Field {
        CLAIM_TEMPLATES.index(template).child("spec").child("storageClassName").to_field()
    }
}

/// An update replaces the pods on all nodes at once. The API server also accepts variants such as `0100%`.
pub(crate) fn replaces_all<T>(spec: &DaemonSetSpec<T>) -> bool {
    let strategy = spec.update_strategy.as_ref();
    let rolling = strategy.filter(|it| it.type_.as_deref() == Some("RollingUpdate"));
    let value = rolling.and_then(|it| it.rolling_update.as_ref()?.max_unavailable.as_ref());
    value.is_some_and(|it| {
        matches!(it, IntOrString::String(_)) && scaled(it, 100, false) == Some(100)
    })
}

impl ClaimNeed {
    /// Without a class, or with a given volume, nothing is provisioned.
    fn all(claim: &PersistentVolumeClaim) -> impl Iterator<Item = Self> {
        let spec = claim.spec.as_ref().filter(|it| {
            it.storage_class_name.as_deref() != Some("") && text(it.volume_name.as_ref()).is_none()
        });
        let selects = spec.is_some_and(|it| it.selector.is_some());
        let shares = spec.is_some_and(|it| {
            let mut modes = it.access_modes.iter().flatten();
            it.volume_mode.as_deref() != Some("Block") && modes.any(|mode| mode == "ReadWriteMany")
        });
        let needs =
            [selects.then_some(ClaimNeed::Selector), shares.then_some(ClaimNeed::ManyWriters)];
        let annotated = claim.metadata.annotations.as_ref();
        let has_old_class = annotated.is_some_and(|it| it.contains_key(OLD_CLASS_ANNOTATION));
        needs.into_iter().flatten().filter(move |_| !has_old_class)
    }
}

/// Returns whether the API server gives the claim the default class, and a new volume.
fn gets_default_class(claim: &PersistentVolumeClaim) -> bool {
    let annotated = claim.metadata.annotations.as_ref();
    annotated.is_none_or(|it| !it.contains_key(OLD_CLASS_ANNOTATION))
        && claim.spec.as_ref().is_some_and(|spec| {
            spec.storage_class_name.is_none()
                && spec.selector.is_none()
                && spec.volume_name.as_ref().is_none_or(String::is_empty)
        })
}

fn text(value: Option<&String>) -> Option<Box<str>> {
    value.filter(|text| !text.is_empty()).map(|text| text.as_str().into())
}

/// Parts of the flags and variables that hold only a name of a host.
const HOSTS: [&str; 11] = [
    "addr", "dns", "domain", "endpoint", "headless", "host", "join", "peer", "seed", "server",
    "url",
];

/// Returns whether a container's command, argument or variable has the Service as a host, or the name of a pod of the
/// set. The Service may only be called like a component of the program: `-target=ingester`.
fn mentions(pod: &PodSpec, service: &str, set: &str) -> bool {
    let service_finder = memmem::Finder::new(service);
    let pod_finder = memmem::Finder::new(set);
    let has = |flag: &str, text: &str| {
        let before = |at: usize| text.get(..at).unwrap_or_default();
        let starts = |at: usize| {
            let before = before(at);
            !before.ends_with(is_part) && (!before.ends_with('/') || before.ends_with("//"))
        };
        let is_told = || {
            let flag = flag.to_ascii_lowercase();
            HOSTS.iter().any(|it| flag.contains(it))
        };
        let is_service = |at: usize| {
            let (before, rest) = (before(at), text.get(at + service.len()..).unwrap_or_default());
            let is_item = (before.is_empty() || before.ends_with(','))
                && (rest.is_empty() || rest.starts_with(','));
            let is_host = before.ends_with(['.', '@']) || is_host(before, rest);
            starts(at) && !rest.starts_with(is_part) && (is_host || is_item && is_told())
        };
        let is_pod = |at: usize| {
            let rest = text.get(at + set.len()..).and_then(|rest| rest.strip_prefix('-'));
            starts(at) && rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        service_finder.find_iter(text.as_bytes()).any(is_service)
            || pod_finder.find_iter(text.as_bytes()).any(is_pod)
    };
    containers(pod).flat_map(hosts::texts).any(|(flag, text)| has(flag, text))
}

const fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// A Secret can hold a token too.
fn mounts_token(pod: &PodSpec) -> Option<bool> {
    let has_token = |it: &Volume| {
        let sources = it.projected.iter().flat_map(|it| list(&it.sources));
        it.secret.is_some() || sources.into_iter().any(|it| it.service_account_token.is_some())
    };
    let has_own = list(&pod.volumes).iter().any(has_token);
    if has_own { Some(true) } else { pod.automount_service_account_token }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_found_as_whole_words() {
        let says = |text: &str| {
            let pod = json!({"containers": [{"name": "main", "args": [text]}]});
            mentions(&serde_json::from_value(pod).unwrap(), "db-peers", "db")
        };
        for used in [
            "--join=db-peers", "--seeds=a,db-peers,b", "nslookup db-peers", "db-peers:80",
            "$(POD).db-peers", "db-peers.shop.svc", "--join=db-0.db-peers:80", "http://db-peers/",
            "a,db-2", "x.db-peers.shop.svc",
        ] {
            assert!(says(used), "{used}");
        }
        for other in [
            "db", "db-peers", "--target=db-peers", "db-peers.yaml", "run db-peers", "my-db-peers",
            "db-peers2", "/etc/db-peers", "db-x", "mydb-0", "",
        ] {
            assert!(!says(other), "{other}");
        }
    }
}
