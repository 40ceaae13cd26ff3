//! Claims of StatefulSets that are not bound.

use super::{read::one_line, replicas::Replicas};
use crate::{
    observed::{Claim, TroubleKind},
    rules::rule::status::StatusQuery,
};

/// A claim that is not bound, and why not.
pub(super) struct Unbound<'a> {
    pub(super) name: String,
    pub(super) claim: &'a Claim,
    pub(super) why: WhyUnbound<'a>,
}

/// Why a claim is not bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WhyUnbound<'a> {
    /// Its volume is gone.
    Lost,
    /// Its storage class does not exist.
    NoClass(&'a str),
    /// It names no storage class, and none is the default.
    NoDefaultClass,
    /// Somebody has said why.
    Said(String),
    /// Nobody has. The storage class, if it has one.
    Unknown(Option<&'a str>),
}

/// The claims of a pod that are not bound, although they could be.
pub(super) fn unbound<'a>(
    query: &StatusQuery<'a>,
    replicas: &Replicas<'a>,
    ordinal: i64,
) -> Vec<Unbound<'a>> {
    let (observed, namespace) = (query.audit.observed, query.set.namespace());
    if !observed.knows("PersistentVolumeClaim", namespace) {
        return Vec::new();
    }
    let names = replicas.settings.claims_of(ordinal);
    let unbound = names.filter_map(|name| {
        let claim = observed.claim(namespace, &name)?;
        let is_waiting = &*claim.phase == "Pending" && query.audit.is_long_ago(claim.created);
        let why = match &*claim.phase {
            "Lost" => WhyUnbound::Lost,
            _ if is_waiting => why(query, replicas, ordinal, &name, claim)?,
            _ => return None,
        };
        Some(Unbound { name, claim, why })
    });
    unbound.collect()
}

/// Why a claim is still pending; `None` if it only waits for its pod to get a node.
///
/// Kubernetes: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.
fn why<'a>(
    query: &StatusQuery<'a>,
    replicas: &Replicas<'a>,
    ordinal: i64,
    name: &str,
    claim: &'a Claim,
) -> Option<WhyUnbound<'a>> {
    let observed = query.audit.observed;
    let knows_classes = observed.knows("StorageClass", "");
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
    let events = observed.events(query.set.namespace(), "PersistentVolumeClaim", name);
    if let Some(event) = events.first() {
        return Some(WhyUnbound::Said(one_line(&event.message)));
    }
    if class.is_some_and(|class| class.waits_for_pod) {
        // The scheduler chooses the volume together with the node.
        let pod = replicas.pods.get(&ordinal)?;
        let trouble = pod.trouble.as_ref().filter(|it| it.kind == TroubleKind::Unschedulable)?;
        let is_about_volumes = trouble.message.contains("volume");
        return is_about_volumes.then(|| WhyUnbound::Said(one_line(&trouble.message)));
    }
    Some(WhyUnbound::Unknown(claim.class.as_deref()))
}
