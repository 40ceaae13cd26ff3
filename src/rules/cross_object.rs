//! Objects that bear on each other, and the rules about them.
//!
//! An [`Item`] is what these rules need to know of an object, in a few hundred bytes: the objects
//! themselves can be let go. A rule looks at all items at once, so no rule may compare every item
//! with every other.

mod host_port_conflict;
mod selector_overlap;
mod service_missing;
mod service_not_headless;
mod service_selects_nothing;
mod services;

use std::borrow::Cow;

use crate::finding::{Finding, Findings, Meta, Path, Reason};
use crate::inventory::item::Item;

/// A rule about several objects. Only who sees all of them can run it.
#[derive(Debug)]
pub struct Rule {
    /// What it says of itself.
    pub meta: Meta,
    /// Looks at all objects. Pure: no IO, no clock, no policy.
    pub check: fn(&Inventory, &mut Found),
}

/// Every rule about several objects, in alphabetical order.
pub static RULES: &[&Rule] = &[
    &host_port_conflict::RULE,
    &selector_overlap::RULE,
    &service_missing::RULE,
    &service_not_headless::RULE,
    &service_selects_nothing::RULE,
];

/// Objects, in the order in which they came.
#[derive(Debug, Default)]
pub struct Inventory {
    items: Vec<Item>,
}

impl Inventory {
    /// Takes an object up, and says at which place it now is.
    pub fn add(&mut self, item: Item) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// The object at a place.
    pub fn get(&self, index: usize) -> Option<&Item> {
        self.items.get(index)
    }

    /// All objects, with their places.
    pub fn items(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate()
    }
}

/// Where rules about several objects put what they find.
#[derive(Debug)]
pub struct Found {
    rule: &'static str,
    list: Vec<(usize, Finding)>,
}

impl Found {
    /// An empty list whose findings will carry this rule's id.
    pub const fn of(rule: &'static str) -> Self {
        Found { rule, list: Vec::new() }
    }

    /// Adds a finding about the object at a place; see [`Findings::report`].
    fn report(
        &mut self,
        item: usize,
        path: &Path<'_>,
        reason: Reason,
        message: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) {
        let mut found = Findings::of(self.rule);
        found.report(path, reason, message, help);
        self.list.extend(found.into_vec().into_iter().map(|finding| (item, finding)));
    }

    /// All of them, each with the place of its object.
    pub fn into_vec(self) -> Vec<(usize, Finding)> {
        self.list
    }
}
