//! The limits of a policy for some objects.

use crate::rules::prelude::*;
use crate::{
    kubernetes::int_or_percent::shown,
    rules::read::{Wave, scaled},
};

words! {
    /// Something that a limit may forbid.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Consequence {
        /// Too many pods are down at once.
        AtMostUnavailable => "atMostUnavailable",
        /// Claims are deleted.
        DeletesClaims => "deletesClaims",
        /// A rollout begins that cannot finish.
        NeverEnds => "neverEnds",
        /// All pods are replaced in one wave.
        ReplacesAll => "replacesAll",
    }
}

impl Consequence {
    /// Every consequence, in the order of the policy.
    pub const ALL: [Self; 4] =
        [Self::AtMostUnavailable, Self::DeletesClaims, Self::NeverEnds, Self::ReplacesAll];
}

/// The effects that a change must not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// How many pods may be down at once: a number, or a share of the existing pods.
    pub at_most_unavailable: Option<IntOrString>,
    /// Whether claims may be deleted.
    pub deletes_claims: bool,
    /// Whether a rollout may begin that cannot finish.
    pub never_ends: bool,
    /// Whether all pods may be replaced in one wave.
    pub replaces_all: bool,
    /// The reason for the limits.
    pub reason: String,
}

impl Limits {
    /// Returns whether the consequence is forbidden.
    pub const fn forbids(&self, consequence: Consequence) -> bool {
        match consequence {
            Consequence::AtMostUnavailable => self.at_most_unavailable.is_some(),
            Consequence::DeletesClaims => !self.deletes_claims,
            Consequence::NeverEnds => !self.never_ends,
            Consequence::ReplacesAll => !self.replaces_all,
        }
    }

    /// Returns the limits on some of the consequences. The others are allowed.
    #[must_use]
    pub fn only(&self, some: impl Fn(Consequence) -> bool) -> Self {
        let most = self.at_most_unavailable.clone();
        Limits {
            at_most_unavailable: most.filter(|_| some(Consequence::AtMostUnavailable)),
            deletes_claims: self.deletes_claims || !some(Consequence::DeletesClaims),
            never_ends: self.never_ends || !some(Consequence::NeverEnds),
            replaces_all: self.replaces_all || !some(Consequence::ReplacesAll),
            reason: self.reason.clone(),
        }
    }

    /// Returns why a consequence is forbidden, with the limit as it is in the policy.
    pub fn why(&self, consequence: Consequence) -> String {
        let most = self.at_most_unavailable.as_ref();
        let most = most.filter(|_| consequence == Consequence::AtMostUnavailable);
        let value = most.map_or_else(|| "false".to_owned(), shown);
        let (limit, reason) = (consequence.as_str(), self.reason.trim());
        format!("the policy forbids it by {limit}: {value} ({reason})")
    }

    pub(crate) fn beyond(&self, wave: &Wave) -> Vec<Consequence> {
        let &Wave { down, all, .. } = wave;
        let replaces_all = !self.replaces_all && all > 1 && down >= all;
        let is_too_many = self.most_of(all).is_some_and(|most| down > most);
        let all = [(replaces_all, Consequence::ReplacesAll)];
        let all = all.into_iter().chain([(is_too_many, Consequence::AtMostUnavailable)]);
        all.filter_map(|(is_beyond, it)| is_beyond.then_some(it)).collect()
    }

    pub(super) fn most_of(&self, all: i64) -> Option<i64> {
        scaled(self.at_most_unavailable.as_ref()?, all.try_into().ok()?, true)
    }
}
