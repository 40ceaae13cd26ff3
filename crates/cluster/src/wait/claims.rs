//! Claims of a StatefulSet that are not bound.

use std::collections::BTreeMap;

use setguard_core::{
    observed::{Pod, WorkloadState, WorkloadStatus},
    rollout::stateful_set::Settings,
    rules::{
        rule::status::StatusQuery,
        status::claims::{self, Unbound, WhyUnbound},
    },
};

use super::obstacle::{Hold, Obstacle, View};

/// Returns the obstacle of the first claim that is not bound, unless the claim only waits for its
/// pod to get a node.
pub(crate) fn unbound(view: &View<'_>, set: &WorkloadStatus) -> Option<Obstacle> {
    let WorkloadState::StatefulSet(it) = &set.state else { return None };
    let settings = Settings::of(set.name(), &it.spec, view.cluster)?;
    let audit = view.audit(None);
    let query = StatusQuery { set, audit: &audit };
    let pods = view.observed.pods(set).iter();
    let pods = pods.filter_map(|pod| Some((pod.ordinal(set.name())?, pod)));
    let pods: BTreeMap<i64, &Pod> = pods.collect();
    let obstacles = settings.ordinals.clone().flat_map(|ordinal| {
        claims::unbound(&query, &settings, ordinal, pods.get(&ordinal).copied())
    });
    obstacles.map(|it| obstacle(view, &it)).min_by_key(|it| it.hold)
}

fn obstacle(view: &View<'_>, Unbound { name, claim, why }: &Unbound<'_>) -> Obstacle {
    let hold = match why {
        WhyUnbound::Lost | WhyUnbound::NoClass(_) | WhyUnbound::NoDefaultClass => Hold::Fact,
        // Whoever may create events can write why a claim is not provisioned.
        WhyUnbound::NoVolume(_)
        | WhyUnbound::NotProvisioned(_)
        | WhyUnbound::Said(_)
        | WhyUnbound::Unknown(_) => Hold::Transient,
    };
    let text = format!("claim {name} is {}: {}", claim.phase, why.text(view.observed));
    Obstacle { since: Some(claim.created), ..Obstacle::new(format!("claim {name}"), hold, text) }
}
