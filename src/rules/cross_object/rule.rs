//! What a rule about several objects is.

use std::borrow::Cow;

use crate::{
    finding::{Finding, Findings, Meta, Path, Reason},
    inventory::Inventory,
};

/// A rule about several objects. Only who sees all of them can run it.
#[derive(Debug)]
pub struct Rule {
    /// What it says of itself.
    pub meta: Meta,
    /// The kinds that it reports about.
    pub kinds: &'static [&'static str],
    /// Looks at all objects. Pure: no IO, no clock, no policy.
    pub check: fn(&Inventory, &mut Found),
}

/// Where rules about several objects put what they find.
#[derive(Debug)]
pub struct Found {
    rule: &'static Meta,
    list: Vec<(usize, Finding)>,
}

impl Found {
    /// An empty list of findings by this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        Found { rule, list: Vec::new() }
    }

    /// Adds a finding about the object at a place; see [`Findings::report`].
    pub(super) fn report(
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
