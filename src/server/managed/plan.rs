//! Decides on the next write, given the objects that were read. Does no I/O, reads no clock and creates no keys.
//!
//! Only the Secret determines which authorities (CAs) are trusted, and only those whose key the Secret contains. A
//! replica remembers the authorities that it has read in the Secret, and restores a missing authority. The content of a
//! `caBundle` proves nothing, whatever the names in it: clients without access to the Secret may be able to write
//! there. So the set of authorities is the union of the Secret's and the ones that running replicas remember, and an
//! authority leaves the set only when it expires: no mistake and no race can remove an authority while a replica that
//! reaches the API server serves a leaf signed by it. All replicas do the same, and the API server's `resourceVersion`
//! decides which one is first:
//!
//! 1. The Secret gets the authorities that it lacks, and a new one after two thirds of the newest one's lifetime.
//! 2. The `caBundle`s get exactly the authorities in the Secret.
//! 3. A replica signs its leaf with the newest authority that has been in all `caBundle`s for a while.
//! 4. An authority leaves the Secret, and so the `caBundle`s, only when it expires: a replica that cannot reach the API
//!    server for months keeps signing with the authorities that it knows.
//!
//! If the Secret is lost while something is published, a replica that remembers nothing first waits for a replica that
//! does. After that it creates a new authority. This one immediately replaces the published ones.

use std::collections::HashMap;

use crate::server::configuration::Configuration;
use crate::server::tls::authority::{Authority, BACKDATE, Stored, Time, two_thirds};

/// In seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetimes {
    pub(crate) authority: Time,
    pub(crate) leaf: Time,
    /// How long an authority is published before it signs anything: by then, all API servers use the new `caBundle`.
    pub(crate) settle: Time,
    /// How long a replica that remembers no authority waits for one that does, if the Secret is lost while something is
    /// published.
    pub(crate) patience: Time,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The content of the Secret. `None` if it does not exist, is empty or is corrupt.
    pub(crate) stored: Option<Stored>,
    pub(crate) published: Vec<Published>,
}

#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) configuration: Configuration,
    /// DER.
    pub(crate) certs: Vec<Vec<u8>>,
    /// Whether the `caBundle` contains nothing else.
    pub(crate) clean: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Write the Secret with these authorities, and with a new one if `make`.
    Store {
        /// Newest first.
        keep: Vec<Authority>,
        make: bool,
        /// Certificates (DER) that the write removes.
        dropped: Vec<Vec<u8>>,
    },
    /// Write all `caBundle`s of this webhook configuration with these authorities.
    Publish {
        configuration: Configuration,
        /// Newest first.
        bundle: Vec<Authority>,
        /// Certificates (DER) that the write removes.
        dropped: Vec<Vec<u8>>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The signer's certificate.
    pub(crate) authority: Vec<u8>,
    pub(crate) signed: Time,
    pub(crate) not_after: Time,
}

#[derive(Debug)]
pub(crate) struct Plan {
    lifetimes: Lifetimes,
    /// Newest first.
    pub(crate) known: Vec<Authority>,
    /// When each authority, by its certificate, first was in every `caBundle`.
    since: HashMap<Vec<u8>, Time>,
    /// When this replica first saw something published although it knew no authority.
    lost: Option<Time>,
    pub(crate) leaf: Option<Leaf>,
}

impl Plan {
    pub(crate) fn new(lifetimes: Lifetimes) -> Self {
        Plan { lifetimes, known: Vec::new(), since: HashMap::new(), lost: None, leaf: None }
    }

    /// `now` is the API server's time, because the API server verifies our leaf.
    pub(crate) fn observe(&mut self, now: Time, view: &View) {
        for authority in view.stored.iter().flat_map(|stored| &stored.authorities) {
            if !self.known.iter().any(|known| known.cert == authority.cert) {
                self.known.push(authority.clone());
            }
        }
        self.known.retain(|authority| now < authority.not_after);
        self.known.sort_by(|a, b| b.not_before.cmp(&a.not_before).then(b.cert.cmp(&a.cert)));

        let everywhere = |authority: &&Authority| {
            view.published.iter().all(|p| p.certs.contains(&authority.cert))
        };
        let known = self.known.iter().filter(everywhere);
        self.since = known
            .map(|a| (a.cert.clone(), self.since.get(&a.cert).copied().unwrap_or(now)))
            .collect();

        let lost = self.known.is_empty() && view.published.iter().any(|p| !p.certs.is_empty());
        self.lost = lost.then(|| self.lost.unwrap_or(now));
    }

    /// Returns whether this replica lets a different one restore the Secret.
    pub(crate) fn is_waiting(&self, now: Time) -> bool {
        self.lost.is_some_and(|since| now < since + self.lifetimes.patience)
    }

    /// `view` must be the state that was just observed.
    pub(crate) fn write(&self, now: Time, view: &View) -> Option<Step> {
        if self.is_waiting(now) {
            return None;
        }
        let make = !self.known.iter().any(|authority| {
            let made = authority.not_before + BACKDATE;
            authority.not_before <= now && now < made + two_thirds(authority.not_after - made)
        });
        let stored = view.stored.as_ref();
        if make
            || !stored.is_some_and(|it| it.keyless.is_empty() && same(&it.authorities, &self.known))
        {
            let certs = stored.iter().flat_map(|it| {
                it.keyless.iter().chain(it.authorities.iter().map(|authority| &authority.cert))
            });
            let dropped = self.unknown(certs);
            return Some(Step::Store { keep: self.known.clone(), make, dropped });
        }
        let wrong = view.published.iter().find(|published| {
            !published.clean || !self.known.iter().map(|a| &a.cert).eq(&published.certs)
        })?;
        let configuration = wrong.configuration;
        let all = view.published.iter().filter(|it| it.configuration == configuration);
        let dropped = self.unknown(all.flat_map(|published| &published.certs));
        Some(Step::Publish { configuration, bundle: self.known.clone(), dropped })
    }

    /// Returns the untrusted certificates among these, each once.
    fn unknown<'a>(&self, certs: impl Iterator<Item = &'a Vec<u8>>) -> Vec<Vec<u8>> {
        let mut unknown: Vec<_> =
            certs.filter(|cert| !self.known.iter().any(|it| it.cert == **cert)).cloned().collect();
        unknown.sort();
        unknown.dedup();
        unknown
    }

    /// Returns the authority that must sign a new leaf now, and the end of that leaf's validity.
    ///
    /// Without the API server, `now` is an estimate that may be ahead but not behind. So the leaf is renewed even by an
    /// authority that seems to have expired, as long as the new leaf expires later than the current one.
    pub(crate) fn sign(&self, now: Time) -> Option<(&Authority, Time)> {
        let until = |authority: &Authority| (now + self.lifetimes.leaf).min(authority.not_after);
        let can = |a: &&Authority| a.not_before <= now && now < a.not_after;
        let since = |a: &Authority| self.since.get(&a.cert).copied();
        let usable = || self.known.iter().filter(can).filter(|a| since(a).is_some());
        let settle = self.lifetimes.settle;
        let newest = usable().find(|a| since(a).is_some_and(|t| t + settle <= now));
        // If no authority has settled, prefer the oldest: it has been published for the longest time. But the oldest
        // must stay valid until a newer one has settled.
        let oldest = || usable().rev().find(|a| now + 2 * settle < a.not_after);
        let best = newest.or_else(oldest).or_else(|| usable().next());
        let Some(leaf) = &self.leaf else { return best.map(|a| (a, until(a))) };

        let own = self.known.iter().find(|a| a.cert == leaf.authority);
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

    /// The leaf that `sign` required is signed, and in use.
    pub(crate) fn signed(&mut self, now: Time, authority: Vec<u8>, not_after: Time) {
        self.leaf = Some(Leaf { authority, signed: now, not_after });
    }
}

/// In any order.
fn same(one: &[Authority], other: &[Authority]) -> bool {
    one.len() == other.len() && other.iter().all(|authority| one.contains(authority))
}

#[cfg(test)]
mod tests;
