//! Every rule by its id.

pub mod markdown;

use crate::{
    finding::{Meta, nearest_of},
    rules::{
        RULES,
        rule::{Rule, Runner},
    },
};

/// The web address of the documentation.
pub const HOME: &str = "https://setguard.io";

/// Returns the web address of a rule's page.
pub fn url(meta: &Meta) -> String {
    format!("{HOME}/rules/{}.html", meta.id)
}

/// Returns the kinds that a rule checks, separated by commas.
pub fn kinds(rule: &Rule) -> String {
    rule.kinds().iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the commands that run a rule, separated by commas.
pub fn runners(rule: &Rule) -> String {
    rule.runners().into_iter().map(Runner::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns every rule, sorted by id.
pub const fn all() -> &'static [&'static Rule] {
    RULES
}

/// Finds a rule by its id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.binary_search_by_key(&id, |rule| rule.meta.id).ok().map(|i| RULES[i])
}

/// Returns the rule id that a misspelt one resembles, or the first with these words.
pub fn nearest(id: &str) -> Option<&'static str> {
    let ids = || RULES.iter().map(|rule| rule.meta.id);
    let words = format!("-{id}-");
    nearest_of(id, ids()).or_else(|| ids().find(|it| format!("-{it}-").contains(&words)))
}
