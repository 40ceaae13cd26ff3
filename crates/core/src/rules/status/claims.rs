//! Explains why claims of StatefulSets are not bound.

use super::scheduler;
use crate::rules::prelude::*;
use crate::{
    kubernetes::managed_labels::written_ordinal, observed::PersistentVolumeClaim,
    rollout::stateful_set::Settings,
};

pub(crate) struct Unbound<'a> {
    pub name: String,
    pub claim: &'a PersistentVolumeClaim,
    pub why: WhyUnbound<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WhyUnbound<'a> {
    Lost,
    NoClass(&'a str),
    NoDefaultClass,
    /// The class provisions no volumes, and no existing volume fits.
    NoVolume(String),
    NotProvisioned(String),
    /// The message of a different event, or of the scheduler.
    Said(String),
    /// The storage class, if the claim has one.
    Unknown(Option<&'a str>),
}

impl WhyUnbound<'_> {
    pub(crate) fn text(&self, observed: &Observed) -> String {
        match self {
            WhyUnbound::Lost => "its volume does not exist any more".to_owned(),
            WhyUnbound::NoClass(name) => format!("the storage class {name} does not exist"),
            WhyUnbound::NoDefaultClass => {
                "it names no storage class, and no class is the default".to_owned()
            }
            WhyUnbound::NoVolume(reason)
            | WhyUnbound::NotProvisioned(reason)
            | WhyUnbound::Said(reason) => reason.clone(),
            WhyUnbound::Unknown(class) => {
                match class.and_then(|name| Some((name, observed.class(name)?))) {
                    Some((name, class)) => format!(
                        "{}, the provisioner of class {name}, has made no volume",
                        class.provisioner
                    ),
                    None => "no volume matches it".to_owned(),
                }
            }
        }
    }
}

pub(in crate::rules) struct OfSet<'a> {
    /// The index of the claim template.
    pub(in crate::rules) template: usize,
    pub(in crate::rules) name: &'a str,
    pub(in crate::rules) ordinal: i64,
    pub(in crate::rules) is_wanted: bool,
    pub(in crate::rules) claim: &'a PersistentVolumeClaim,
}

/// Finds all claims of a StatefulSet by their names, including claims of pods beyond its replicas.
pub(in crate::rules) fn of_set<'a>(query: &StatusQuery<'a>) -> impl Iterator<Item = OfSet<'a>> {
    let (observed, set) = (query.audit.observed, query.set);
    let spec = match &set.state {
        WorkloadState::StatefulSet(it) => Some(&it.spec),
        WorkloadState::DaemonSet(_) => None,
    };
    let settings = spec.and_then(|spec| Settings::of(set.name(), spec, query.audit.cluster));
    let templates = spec.and_then(|spec| spec.volume_claim_templates.as_ref());
    let names = templates.into_iter().flatten().map(|it| it.metadata.name.as_deref());
    let names = names.enumerate().filter_map(|(index, name)| Some((index, name?)));
    let all = names.flat_map(move |(template, of)| {
        let prefix = format!("{of}-{}-", set.name());
        let claims = observed.claims(set.namespace(), &prefix);
        claims.filter_map(move |(name, claim)| {
            Some((template, name, claim, written_ordinal(name.strip_prefix(&*prefix)?)?))
        })
    });
    all.filter_map(move |(template, name, claim, ordinal)| {
        let is_wanted = settings.as_ref()?.ordinals.contains(&ordinal);
        Some(OfSet { template, name, ordinal, is_wanted, claim })
    })
}

/// Returns the claims of an ordinal that are stuck unbound. `pod` is the pod with this ordinal, if it exists.
pub(crate) fn unbound<'a>(
    query: &StatusQuery<'a>,
    settings: &Settings,
    ordinal: i64,
    pod: Option<&Pod>,
) -> Vec<Unbound<'a>> {
    let (observed, namespace) = (query.audit.observed, query.set.namespace());
    if !observed.knows(Kind::PersistentVolumeClaim, namespace) {
        return Vec::new();
    }
    let names = settings.claims_of(ordinal);
    let unbound = names.filter_map(|name| {
        let claim = observed.claim(namespace, &name)?;
        let is_waiting = &*claim.phase == "Pending" && query.audit.is_long_ago(claim.created);
        let why = match &*claim.phase {
            "Lost" => WhyUnbound::Lost,
            _ if is_waiting => why(query, pod, &name, claim)?,
            _ => return None,
        };
        Some(Unbound { name, claim, why })
    });
    unbound.collect()
}

/// Returns why a claim is still pending; `None` if it only waits for its pod to get a node.
///
/// Kubernetes: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.
fn why<'a>(
    query: &StatusQuery<'a>,
    pod: Option<&Pod>,
    name: &str,
    claim: &'a PersistentVolumeClaim,
) -> Option<WhyUnbound<'a>> {
    let observed = query.audit.observed;
    let knows_classes = observed.knows(Kind::StorageClass, "");
    let class = claim.class.as_deref().and_then(|class| observed.class(class));
    match claim.class.as_deref() {
        None if knows_classes && !observed.classes().any(|(_, class)| class.is_default) => {
            return Some(WhyUnbound::NoDefaultClass);
        }
        Some(name) if !name.is_empty() && class.is_none() && knows_classes => {
            return Some(WhyUnbound::NoClass(name));
        }
        _ => {}
    }
    let waits_for_pod = class.is_some_and(|class| class.waits_for_pod);
    let reason = no_volume(query, name, claim);
    if let Some(reason) = reason.clone().filter(|_| !waits_for_pod) {
        return Some(WhyUnbound::NoVolume(reason));
    }
    let events = observed.events(query.set.namespace(), Kind::PersistentVolumeClaim, name);
    if let Some(event) = events.first() {
        let said = one_line(&event.message);
        return Some(match &*event.reason {
            "ProvisioningFailed" => WhyUnbound::NotProvisioned(said),
            _ => WhyUnbound::Said(said),
        });
    }
    if waits_for_pod && claim.has_node {
        return Some(WhyUnbound::Unknown(claim.class.as_deref()));
    }
    if waits_for_pod {
        // The scheduler chooses the volume together with the node.
        let trouble = pod?.trouble.as_ref().filter(|it| it.kind == NotReadyKind::Unschedulable)?;
        let is_about_volumes = trouble.message.contains("volume");
        return is_about_volumes.then(|| match reason {
            Some(reason) => WhyUnbound::NoVolume(reason),
            None => {
                let said = one_line(&trouble.message);
                WhyUnbound::Said(scheduler::apart(&said, None).unwrap_or(said))
            }
        });
    }
    Some(WhyUnbound::Unknown(claim.class.as_deref()))
}

/// Returns why no existing volume fits a claim whose class provisions none; `None` if one may.
///
/// Kubernetes: `FindMatchingVolume`, component-helpers storage/volume/pv_helpers.go.
fn no_volume(query: &StatusQuery<'_>, name: &str, claim: &PersistentVolumeClaim) -> Option<String> {
    let observed = query.audit.observed;
    let class = claim.class.as_deref()?;
    let makes_none = class.is_empty()
        || observed
            .class(class)
            .is_some_and(|it| &*it.provisioner == "kubernetes.io/no-provisioner");
    if !makes_none || !observed.knows(Kind::PersistentVolume, "") {
        return None;
    }
    let what = match class {
        "" => "it requests a volume without a class".to_owned(),
        class => format!("the storage class {class} makes no volumes"),
    };
    let is_own = |(namespace, of): &(Box<str>, Box<str>)| {
        **namespace == *query.set.namespace() && **of == *name
    };
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, volume) in observed.volumes_of(class) {
        let why_not = match &volume.claim {
            _ if volume.is_released => "still belongs to a deleted claim",
            Some(other) if !is_own(other) => "belongs to another claim",
            _ if !claim.has_room_in(volume) => "is too small",
            _ if !claim.modes.iter().all(|it| volume.modes.contains(it)) => {
                "has another access mode"
            }
            _ => return None,
        };
        reasons.entry(why_not).or_default().push(name);
    }
    if reasons.is_empty() {
        return Some(format!("{what}, and there is no PersistentVolume of this class"));
    }
    let list =
        reasons.iter().map(|(why, volumes)| format!("{} {why}", names(volumes.iter().copied())));
    Some(format!("{what}, and no PersistentVolume fits: {}", list.collect::<Vec<_>>().join(", ")))
}
