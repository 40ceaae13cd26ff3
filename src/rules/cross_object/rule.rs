//! The definition of a rule about several objects.

use std::borrow::Cow;

use crate::{
    finding::{Finding, Findings, Meta, Path, Reason},
    inventory::Inventory,
};

/// A rule about several objects. It can run only where all of them are known.
#[derive(Debug)]
pub struct Rule {
    /// Its description.
    pub meta: Meta,
    /// The kinds of object that its findings are about.
    pub kinds: &'static [&'static str],
    /// Looks at all objects. Pure: no IO, no clock, no policy.
    pub check: fn(&Inventory, &mut Found),
}

/// The findings of a rule about several objects.
#[derive(Debug)]
pub struct Found {
    rule: &'static Meta,
    list: Vec<(usize, Finding)>,
}

impl Found {
    /// An empty list of findings of this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        Found { rule, list: Vec::new() }
    }

    /// Adds a finding about the object with this index; see [`Findings::report`].
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

    /// All findings, each with the index of its object.
    pub fn into_vec(self) -> Vec<(usize, Finding)> {
        self.list
    }
}
