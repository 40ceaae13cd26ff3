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
    rules::{
        api_validation, cross_object, policy,
        rule::{self, Phase, Scope, inventory::Evidence},
        status, too_large,
        traps::{IN_CEL, TRAPS, limits},
    },
};

/// The address of the documentation on the web.
pub const HOME: &str = "https://setguard.io";

/// A rule, the kinds of objects that it checks, and the commands that run it.
#[derive(Debug)]
pub struct Rule {
    /// The description.
    pub meta: &'static Meta,
    /// The kinds of objects that the rule checks.
    pub kinds: Vec<Kind>,
    /// The commands that run the rule.
    pub runners: BTreeSet<Runner>,
}

/// A command that runs rules.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Runner {
    /// `setguard check`
    Check,
    /// `setguard serve`, as a webhook that validates.
    Validate,
    /// `setguard serve`, as a webhook that mutates.
    Mutate,
    /// `setguard audit`, and `setguard wait` if the rule is about status.
    Audit,
    /// The API server itself, by a policy of `setguard export vap`.
    Policy,
}

impl Runner {
    /// Returns the words for a table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Runner::Check => "`check`",
            Runner::Validate => "webhook",
            Runner::Mutate => "webhook that mutates",
            Runner::Audit => "`audit`",
            Runner::Policy => "admission policy",
        }
    }

    /// Returns the commands that run a rule of the families with traps, cross-object rules and rules
    /// about status.
    const fn of(rule: &rule::Rule) -> &'static [Runner] {
        match rule.scope {
            Scope::Object { phase: Phase::Manifest, .. }
            | Scope::Inventory { evidence: Evidence::Manifest, .. } => &[Runner::Check],
            Scope::Object { phase: Phase::After, .. } | Scope::Inventory { .. } => {
                &[Runner::Check, Runner::Validate, Runner::Audit]
            }
            Scope::Object { phase: Phase::Before { .. }, .. } => {
                &[Runner::Check, Runner::Mutate, Runner::Audit]
            }
            Scope::Status { .. } => &[Runner::Audit],
        }
    }
}

impl Rule {
    /// Returns the names of the kinds, separated by commas.
    pub fn kinds(&self) -> String {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        names.join(", ")
    }

    /// Returns the names of the commands, separated by commas.
    pub fn runners(&self) -> String {
        let names: Vec<_> = self.runners.iter().map(|runner| runner.as_str()).collect();
        names.join(", ")
    }

    /// Returns the address of the rule's documentation.
    pub fn url(&self) -> String {
        format!("{HOME}/rules/{}.html", self.meta.id)
    }
}

/// Returns every rule, in alphabetical order of the ids.
pub fn all() -> &'static [Rule] {
    static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        const CHECKED: &[Runner] = &[Runner::Check, Runner::Validate, Runner::Audit];
        let api = api_validation::meta::METAS;
        let api = api.map(|meta| (meta, api_validation::meta::KINDS, CHECKED));
        let families = TRAPS.iter().chain(cross_object::RULES).chain(status::RULES);
        let families = families.map(|rule| (&rule.meta, rule.kinds(), Runner::of(rule)));
        let bounds = [(&too_large::TOO_LARGE, too_large::KINDS, &CHECKED[..2])];
        let limits = [(&limits::LIMIT_EXCEEDED, limits::KINDS, &CHECKED[..2])];
        let left = &inject::meta::CONTROL_PLANE_TOLERATIONS_LEFT;
        let left = [(left, &[Kind::DaemonSet][..], &CHECKED[..2])];
        let policy = [(&policy::POLICY_WEAKENED, policy::KINDS, &CHECKED[..1])];
        let inject =
            inject::meta::KINDS.iter().map(|(meta, kinds)| (*meta, *kinds, &[Runner::Mutate][..]));
        // A rule can belong to two families: to the traps and to injection, or to the cross-object
        // rules and to those about status.
        let mut rules: BTreeMap<&'static Meta, Rule> = BTreeMap::new();
        let in_cel =
            IN_CEL.iter().map(|(rule, _)| (&rule.meta, rule.kinds(), &[Runner::Policy][..]));
        for (meta, kinds, runners) in api
            .into_iter()
            .chain(families)
            .chain(bounds)
            .chain(limits)
            .chain(policy)
            .chain(inject)
            .chain(left)
            .chain(in_cel)
        {
            let empty = || Rule { meta, kinds: Vec::new(), runners: BTreeSet::new() };
            let rule = rules.entry(meta).or_insert_with(empty);
            let new = kinds.iter().filter(|kind| !rule.kinds.contains(kind));
            let new: Vec<_> = new.copied().collect();
            rule.kinds.extend(new);
            rule.runners.extend(runners);
        }
        rules.into_values().collect()
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
