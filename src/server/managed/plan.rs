//! Decides what to do next from what was read. It does no I/O, reads no clock and creates no keys.
//!
//! The set of authorities (CAs) only grows; an authority leaves it only when it expires. The set is
//! the union of those in the Secret, those that this replica remembers, and setguard's own in the
//! `caBundle`s. So no mistake and no race can remove an authority while a replica still serves a
//! leaf that it signed. All replicas do the same, and the API server's `resourceVersion` decides
//! which one is first:
//!
//! 1. The Secret gets the authorities that it lacks, and a new one as soon as the newest has passed
//!    two thirds of its lifetime.
//! 2. The `caBundle`s get exactly the authorities in the Secret.
//! 3. A replica signs its leaf with the newest authority that has been in all `caBundle`s for a
//!    while.
//! 4. An authority is removed from the Secret, and so from the `caBundle`s, only when it expires: a
//!    replica that cannot reach the API server for months keeps signing with those that it knows.

use std::collections::HashMap;

use super::{
    authority::Authority,
    time::{BACKDATE, Time},
};

/// Authorities in a `caBundle` are adopted only while fewer than this are known, so that nobody can
/// fill the Secret with them.
const MAX_KNOWN: usize = 16;

/// Lifetimes, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetimes {
    /// The lifetime of an authority.
    pub(crate) authority: Time,
    /// The lifetime of a leaf.
    pub(crate) leaf: Time,
    /// How long an authority is published before it signs anything: the time after which all API
    /// servers use a new `caBundle`.
    pub(crate) settle: Time,
}

/// The state of the cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The authorities in the Secret. `None` if the Secret does not exist, is empty or is corrupt.
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
    /// The kind of the object.
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
    /// The webhook configuration that contains it.
    pub(crate) configuration: Configuration,
    /// The authorities in it that setguard created.
    pub(crate) ours: Vec<Authority>,
    /// Whether it contains nothing else.
    pub(crate) clean: bool,
}

/// A write that is necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Write the Secret with these authorities, and with a new one if `make`.
    Store {
        /// The authorities, newest first.
        keep: Vec<Authority>,
        /// Whether to create a new authority.
        make: bool,
    },
    /// Write all `caBundle`s of this webhook configuration with these authorities.
    Publish {
        /// The webhook configuration.
        configuration: Configuration,
        /// The authorities, newest first.
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

/// The memory of a replica.
#[derive(Debug)]
pub(crate) struct Plan {
    lifetimes: Lifetimes,
    /// The authorities that are to be trusted, newest first.
    known: Vec<Authority>,
    /// Since when each authority has been in every `caBundle`. The key is its certificate.
    since: HashMap<Vec<u8>, Time>,
    leaf: Option<Leaf>,
}

impl Plan {
    /// The plan of a replica that has read nothing yet.
    pub(crate) fn new(lifetimes: Lifetimes) -> Self {
        Plan { lifetimes, known: Vec::new(), since: HashMap::new(), leaf: None }
    }

    /// All authorities that are to be trusted, newest first.
    pub(crate) fn known(&self) -> &[Authority] {
        &self.known
    }

    /// Updates the plan from the state of the cluster. `now` is the API server's time, because the
    /// API server verifies our leaf.
    pub(crate) fn observe(&mut self, now: Time, view: &View) {
        for authority in view.stored.iter().flatten() {
            self.learn(authority);
        }
        for authority in view.published.iter().flat_map(|published| &published.ours) {
            let longest = now + self.lifetimes.authority + BACKDATE;
            if self.known.len() < MAX_KNOWN && authority.not_after <= longest {
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

    /// The next necessary write, given the state that was just observed.
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

    /// The authority that must sign a new leaf now, and the end of that leaf's validity. `None` if
    /// no new leaf is due.
    ///
    /// Without the API server `now` is an estimate, which may be ahead but not behind. So the leaf
    /// is renewed even by an authority that seems to have expired, as long as the new leaf expires
    /// later than the current one.
    pub(crate) fn sign(&self, now: Time) -> Option<(&Authority, Time)> {
        let until = |authority: &Authority| (now + self.lifetimes.leaf).min(authority.not_after);
        let can = |a: &&Authority| a.key.is_some() && a.not_before <= now && now < a.not_after;
        let since = |a: &Authority| self.since.get(&a.cert).copied();
        let usable = || self.known.iter().filter(can).filter(|a| since(a).is_some());
        let settle = self.lifetimes.settle;
        let newest = usable().find(|a| since(a).is_some_and(|t| t + settle <= now));
        // If none has settled, prefer the oldest: it has been published for the longest time. But
        // it has to stay valid until a newer one has settled.
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
            // The clock was ahead when the leaf was signed.
            || now + BACKDATE < leaf.signed;
        own.filter(|own| due && (until(own) > leaf.not_after || now < leaf.signed))
            .map(|own| (own, until(own)))
    }

    /// Records that the leaf that `sign` required has been signed and is served.
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

/// Whether both contain the same certificates and keys, in any order.
fn same(one: &[Authority], other: &[Authority]) -> bool {
    one.len() == other.len() && other.iter().all(|authority| one.contains(authority))
}

#[cfg(test)]
mod tests;
