//! Claims of a StatefulSet that are not bound.

use super::obstacle::{Hold, Obstacle, View};
use crate::{
    kubernetes::kind::Kind,
    observed::{PersistentVolumeClaim, Set, State},
    rollout::stateful_set::Settings,
};

/// Returns the obstacle of the first claim that is not bound, unless the claim only waits for its
/// pod to get a node.
pub(crate) fn unbound(view: &View<'_>, set: &Set) -> Option<Obstacle> {
    let State::StatefulSet(it) = &set.state else { return None };
    let observed = view.observed;
    let namespace = set.namespace();
    if !observed.knows(Kind::PersistentVolumeClaim, namespace) {
        return None;
    }
    let settings = Settings::of(set.name(), &it.spec, view.cluster)?;
    let names = settings.ordinals.clone().flat_map(|ordinal| settings.claims_of(ordinal));
    names
        .filter_map(|name| {
            let claim = observed.claim(namespace, &name).filter(|it| &*it.phase != "Bound")?;
            let (hold, why) = why(view, namespace, &name, claim)?;
            let text = format!("claim {name} is {}: {why}", claim.phase);
            let key = format!("claim {name}");
            Some(Obstacle { since: Some(claim.created), ..Obstacle::new(key, hold, text) })
        })
        .min_by_key(|obstacle| obstacle.hold)
}

fn why(
    view: &View<'_>,
    namespace: &str,
    name: &str,
    claim: &PersistentVolumeClaim,
) -> Option<(Hold, String)> {
    let observed = view.observed;
    if &*claim.phase == "Lost" {
        return Some((Hold::Fact, "its volume does not exist any more".to_owned()));
    }
    let knows_classes = observed.knows(Kind::StorageClass, "");
    let events = observed.events(namespace, Kind::PersistentVolumeClaim, name);
    let failed = events.iter().find(|it| &*it.reason == "ProvisioningFailed");
    match claim.class.as_deref() {
        Some(class) if !class.is_empty() => match observed.class(class) {
            None if knows_classes => {
                Some((Hold::Fact, format!("the storage class {class} does not exist")))
            }
            // The pod of the claim may have no node yet.
            Some(it) if it.waits_for_pod && failed.is_none() => None,
            _ => Some(match failed {
                Some(event) => (Hold::Likely, event.message.to_string()),
                None => (Hold::Transient, "no volume is bound to it yet".to_owned()),
            }),
        },
        None if knows_classes && !observed.classes().any(|(_, it)| it.is_default) => {
            Some((Hold::Fact, "it names no storage class, and no class is the default".to_owned()))
        }
        _ => Some((Hold::Transient, "no volume is bound to it yet".to_owned())),
    }
}
