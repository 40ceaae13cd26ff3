//! What to do next, decided from what is seen. No IO, no clock, no keys are made here.
//!
//! The authorities are a set that only grows, and loses a member when that expires: the union of
//! what the Secret holds, what this replica remembers of it, and what is published and of our
//! making. So nobody's mistake, and no race, takes away an authority under which somebody serves.
//! All replicas do the same, and the API server's `resourceVersion` decides who was first:
//!
//! 1. The Secret gets what is missing in it, and a new authority once the newest has lived two
//!    thirds of its life.
//! 2. The `caBundle`s get what is in the Secret: never more, never less.
//! 3. A replica signs its leaf by the newest authority that has been in all `caBundle`s for a while.
//! 4. An expired authority leaves the Secret, and by that the `caBundle`s. Not sooner: a replica
//!    that is cut off from the API server for months goes on signing by what it knows.

use std::collections::HashMap;

use super::authority::Authority;
use crate::server::managed::time::{BACKDATE, Time};

/// So many authorities are taken over from a `caBundle`, lest somebody fills the Secret with them.
const MOST_ADOPTED: usize = 16;

/// How long things live, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetimes {
    /// An authority.
    pub(crate) authority: Time,
    /// A leaf.
    pub(crate) leaf: Time,
    /// How long an authority is published before anybody signs by it: the time in which all API
    /// servers take up a `caBundle`.
    pub(crate) settle: Time,
}

/// What the cluster holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The Secret's authorities. None if there is no Secret, or nothing in it that can be used.
    pub(crate) stored: Option<Vec<Authority>>,
    /// Each `caBundle` of each webhook configuration that exists.
    pub(crate) published: Vec<Published>,
}

/// One of the two webhook configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configuration {
    /// The ValidatingWebhookConfiguration.
    Validating,
    /// The MutatingWebhookConfiguration.
    Mutating,
}

impl Configuration {
    /// Its kind.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Configuration::Validating => "ValidatingWebhookConfiguration",
            Configuration::Mutating => "MutatingWebhookConfiguration",
        }
    }
}

/// A `caBundle`.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    /// In which of the webhook configurations.
    pub(crate) configuration: Configuration,
    /// The authorities of our making in it.
    pub(crate) ours: Vec<Authority>,
    /// Whether that is all that is in it.
    pub(crate) clean: bool,
}

/// What has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The Secret, with these authorities and a new one if `make`.
    Store {
        /// Newest first.
        keep: Vec<Authority>,
        /// Whether a new one has to be made.
        make: bool,
    },
    /// All `caBundle`s of this webhook configuration, with these authorities.
    Publish {
        /// Which.
        configuration: Configuration,
        /// Newest first.
        bundle: Vec<Authority>,
    },
}

/// The leaf that this replica serves.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The certificate of the authority that signed it.
    pub(crate) authority: Vec<u8>,
    /// When it was signed.
    pub(crate) signed: Time,
    /// When it expires.
    pub(crate) not_after: Time,
}

/// What a replica remembers.
#[derive(Debug)]
pub(crate) struct Plan {
    lifetimes: Lifetimes,
    /// Newest first.
    known: Vec<Authority>,
    /// Since when an authority has been seen in every `caBundle`, by its certificate.
    since: HashMap<Vec<u8>, Time>,
    leaf: Option<Leaf>,
}

impl Plan {
    /// Of a replica that knows nothing yet.
    pub(crate) fn new(lifetimes: Lifetimes) -> Self {
        Plan { lifetimes, known: Vec::new(), since: HashMap::new(), leaf: None }
    }

    /// All authorities that are to be trusted, newest first.
    pub(crate) fn known(&self) -> &[Authority] {
        &self.known
    }

    /// Takes in what the cluster holds. `now` is the API server's time, for it is the one that
    /// verifies our leaf.
    pub(crate) fn observe(&mut self, now: Time, view: &View) {
        for authority in view.stored.iter().flatten() {
            self.learn(authority);
        }
        for authority in view.published.iter().flat_map(|published| &published.ours) {
            let longest = now + self.lifetimes.authority + BACKDATE;
            if self.known.len() < MOST_ADOPTED && authority.not_after <= longest {
                self.learn(authority);
            }
        }
        self.known.retain(|authority| now < authority.not_after);
        self.known.sort_by(|a, b| b.not_before.cmp(&a.not_before).then(b.cert.cmp(&a.cert)));

        let everywhere = |authority: &&Authority| {
            view.published.iter().all(|p| p.ours.iter().any(|have| have.cert == authority.cert))
        };
        let known = self.known.iter().filter(everywhere);
        self.since = known
            .map(|a| (a.cert.clone(), self.since.get(&a.cert).copied().unwrap_or(now)))
            .collect();
    }

    fn learn(&mut self, authority: &Authority) {
        match self.known.iter_mut().find(|known| known.cert == authority.cert) {
            None => self.known.push(authority.clone()),
            Some(known) if known.key.is_none() => known.key.clone_from(&authority.key),
            Some(_) => {}
        }
    }

    /// What has to be written first, of what was just observed.
    pub(crate) fn write(&self, now: Time, view: &View) -> Option<Step> {
        let make = !self.known.iter().any(|authority| {
            let made = authority.not_before + BACKDATE;
            authority.key.is_some()
                && authority.not_before <= now
                && now < made + two_thirds(authority.not_after - made)
        });
        if make || !view.stored.as_ref().is_some_and(|stored| same(stored, &self.known)) {
            return Some(Step::Store { keep: self.known.clone(), make });
        }
        let wrong = view.published.iter().find(|published| {
            !published.clean || !self.known.iter().map(|a| &a.cert).eq(certs(&published.ours))
        })?;
        let configuration = wrong.configuration;
        Some(Step::Publish { configuration, bundle: self.known.clone() })
    }

    /// By whom a leaf has to be signed now, and until when it is to be valid. Without the API
    /// server `now` is a guess, which may be in the future but not in the past: so a leaf is signed
    /// by an authority that seems to have expired rather than not renewed, as long as the new leaf
    /// lives longer than the old one.
    pub(crate) fn sign(&self, now: Time) -> Option<(&Authority, Time)> {
        let until = |authority: &Authority| (now + self.lifetimes.leaf).min(authority.not_after);
        let can = |a: &&Authority| a.key.is_some() && a.not_before <= now && now < a.not_after;
        let since = |a: &Authority| self.since.get(&a.cert).copied();
        let usable = || self.known.iter().filter(can).filter(|a| since(a).is_some());
        let settle = self.lifetimes.settle;
        let newest = usable().find(|a| since(a).is_some_and(|t| t + settle <= now));
        // Of those that have just been seen, the oldest has been published for the longest time;
        // but it has to live until a newer one has settled.
        let oldest = || usable().rev().find(|a| now + 2 * settle < a.not_after);
        let best = newest.or_else(oldest).or_else(|| usable().next());
        let Some(leaf) = &self.leaf else { return best.map(|a| (a, until(a))) };

        let own = self.known.iter().find(|a| a.cert == leaf.authority && a.key.is_some());
        if let Some(best) = best
            && best.cert != leaf.authority
        {
            let own_is_published = own.is_some_and(|own| since(own).is_some() && can(&own));
            if !own_is_published
                || newest.is_some_and(|new| Some(new.not_before) > own.map(|o| o.not_before))
            {
                return Some((best, until(best)));
            }
        }
        let due = leaf.signed + two_thirds(leaf.not_after - leaf.signed) <= now
            // It was signed by a clock that was ahead.
            || now + BACKDATE < leaf.signed;
        own.filter(|own| due && (until(own) > leaf.not_after || now < leaf.signed))
            .map(|own| (own, until(own)))
    }

    /// Notes that the leaf has been signed, as `sign` said, and is served.
    pub(crate) fn signed(&mut self, now: Time, authority: Vec<u8>, not_after: Time) {
        self.leaf = Some(Leaf { authority, signed: now, not_after });
    }

    /// The leaf that is served.
    pub(crate) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }
}

fn two_thirds(time: Time) -> Time {
    time - time / 3
}

fn certs(authorities: &[Authority]) -> impl Iterator<Item = &Vec<u8>> {
    authorities.iter().map(|authority| &authority.cert)
}

/// Whether both hold the same certificates and the same keys, in whatever order.
fn same(one: &[Authority], other: &[Authority]) -> bool {
    one.len() == other.len() && other.iter().all(|authority| one.contains(authority))
}

#[cfg(test)]
mod tests;
