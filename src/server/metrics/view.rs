use setguard_cluster::live::Release;
use setguard_core::{inventory::view::Freshness, kubernetes::cluster::Version};

use super::{
    events::ReleaseSource,
    labels::{Labels, metric},
};
use crate::server::prelude::*;

#[derive(Debug)]
pub(super) struct View {
    live: Arc<Live>,
    synced: Family<Labels<1>, Gauge>,
    stale_seconds: Family<Labels<1>, Gauge>,
    objects: Family<Labels<1>, Gauge>,
    bytes: Gauge,
}

impl View {
    pub(super) fn new(live: Arc<Live>, registry: &mut Registry) -> Self {
        View {
            live,
            synced: metric!(registry "inventory_synced" = Family::default(),
                "1 if the view has all objects of this kind, 0 if they were not listed, cannot be read, or were not \
                heard of for ten minutes: the rules that need the kind are then silent"),
            stale_seconds: metric!(registry "inventory_stale_seconds" = Family::default(),
                "Seconds since the API server last confirmed the view of this kind; usually below 60"),
            objects: metric!(registry "inventory_objects" = Family::default(), "Objects of this kind in the view"),
            bytes: metric!(registry "inventory_bytes" = Gauge::default(),
                "Bytes that the objects of the view take, about"),
        }
    }

    pub(super) fn refresh(&self) {
        for state in self.live.kinds() {
            let kind = [("kind", state.kind.as_str())];
            let is_known = state.freshness != Freshness::Unknown;
            self.synced.get_or_create(&kind).set(is_known.into());
            self.objects.get_or_create(&kind).set(number(state.objects));
            match state.silent {
                Some(silent) => {
                    self.stale_seconds.get_or_create(&kind).set(number(silent.as_secs()));
                }
                None => {
                    self.stale_seconds.remove(&kind);
                }
            }
        }
        self.bytes.set(number(self.live.bytes()));
    }
}

fn number(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

impl ReleaseSource {
    pub(crate) const fn of(policy: &Policy, release: Option<&Release>) -> Self {
        match release {
            _ if policy.names_release => ReleaseSource::Policy,
            Some(_) => ReleaseSource::Cluster,
            None => ReleaseSource::Default,
        }
    }
}

pub(super) type ReleaseInForce = Family<Vec<(&'static str, String)>, Gauge>;

/// Returns whether the release or its source changed.
pub(super) fn set_release(
    family: &ReleaseInForce,
    version: Version,
    source: ReleaseSource,
) -> bool {
    let mut labels =
        vec![("release", format!("1.{}", version.minor())), ("source", source.as_str().to_owned())];
    // An absent label equals an empty one, so the series of other releases stay as they are.
    labels.extend(version.patch().map(|patch| ("patch", patch.to_string())));
    if family.get(&labels).is_some() {
        return false;
    }
    family.clear();
    family.get_or_create(&labels).set(1);
    true
}
