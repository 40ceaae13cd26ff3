//! Every rule by its id, whichever family it belongs to.

pub mod markdown;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crate::{
    finding::{Meta, nearest_of},
    inject,
    kubernetes::kind::Kind,
    rules::{api_validation, bounds, cross_object, policy, status, traps::TRAPS},
};

/// The address of the documentation on the web.
pub const HOME: &str = "https://setguard.io";

/// A rule, and the kinds of objects that it checks.
#[derive(Debug)]
pub struct Rule {
    /// The description.
    pub meta: &'static Meta,
    /// The kinds of objects that the rule checks.
    pub kinds: Vec<Kind>,
}

impl Rule {
    /// Returns the names of the kinds, separated by commas.
    pub fn kinds(&self) -> String {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        names.join(", ")
    }

    /// Returns the address of the rule's documentation.
    pub fn url(&self) -> String {
        format!("{HOME}/rules#{}", self.meta.id)
    }
}

/// Returns every rule, in alphabetical order of the ids.
pub fn all() -> &'static [Rule] {
    static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let api = api_validation::meta::METAS.map(|meta| (meta, api_validation::meta::KINDS));
        let traps = TRAPS.iter().map(|trap| (&trap.meta, trap.kinds()));
        let cross_object = cross_object::RULES.iter().map(|rule| (&rule.meta, rule.kinds()));
        let status = status::RULES.iter().map(|rule| (&rule.meta, rule.kinds()));
        let bounds = [(&bounds::TOO_LARGE, bounds::KINDS)];
        let policy = [(&policy::POLICY_WEAKENED, policy::KINDS)];
        let inject = inject::meta::KINDS.iter().copied();
        // A rule can belong to both the traps and injection.
        let mut kinds: BTreeMap<&'static Meta, Vec<Kind>> = BTreeMap::new();
        let ours = traps.chain(bounds).chain(policy).chain(cross_object).chain(status);
        for (meta, of) in api.into_iter().chain(ours).chain(inject) {
            kinds.entry(meta).or_default().extend(of);
        }
        let rules = kinds.into_iter().map(|(meta, mut kinds)| {
            // A rule can also be both a cross-object rule and a rule about status.
            let mut seen = BTreeSet::new();
            kinds.retain(|kind| seen.insert(*kind));
            Rule { meta, kinds }
        });
        rules.collect()
    });
    &ALL
}

/// Finds a rule by its id.
pub fn find(id: &str) -> Option<&'static Rule> {
    let all = all();
    all.binary_search_by_key(&id, |rule| rule.meta.id).ok().map(|i| &all[i])
}

/// Returns the rule id closest to a misspelt one, if any is close enough.
pub fn nearest(id: &str) -> Option<&'static str> {
    nearest_of(id, all().iter().map(|rule| rule.meta.id))
}
