//! The check of texts in memory, for a program without files.

use super::{
    check_all,
    finding_sink::FindingSink,
    fix::{self, Edit},
    inventory,
    known_findings::Known,
    manifest_check::{Checker, InputContext},
    old_objects::OldObjects,
};
use crate::prelude::*;
use crate::proposal::apply::Delivery;

/// The maximum number of findings to look for fixes. Each fix needs further checks to verify it.
const MOST_FIXES: usize = 32;

#[derive(Debug)]
pub(crate) struct Texts<'a> {
    pub(crate) new: Source,
    /// The previous manifests, or an empty text.
    pub(crate) old: Source,
    /// The objects in the cluster, as with `--inventory`; empty if unknown.
    pub(crate) cluster: Source,
    pub(crate) policy: &'a Policy,
}

/// The report; the fixes, each with the index of its finding in the report; and the failures.
type Checked = (Vec<u8>, Vec<(usize, VerifiedFix)>, Vec<String>);

/// A fix that removes its finding and changes no other.
#[derive(Debug)]
pub(crate) struct VerifiedFix {
    pub(crate) title: String,
    /// Whether the fix changes nothing else in the cluster.
    pub(crate) is_safe: bool,
    pub(crate) edits: Vec<Edit>,
}

impl Texts<'_> {
    pub(crate) fn check(self) -> io::Result<Checked> {
        let mut previous = OldObjects::default();
        let mut unreadable = previous.add(&self.old);
        let mut items = Vec::new();
        inventory::add(&self.cluster, &mut items, &mut unreadable);
        let checker = self.checker(&previous);
        let reports = Reports::kept(self.policy);
        let (known, progress) = (Known::default(), Progress::new("checking"));
        let mut sink = FindingSink::new(Repository::default(), reports, known, progress);
        unreadable.iter().for_each(|message| sink.failure(message));
        let new = Source::named(self.new.name().to_owned(), self.new.text().to_owned());
        check_all(vec![Ok(new)], items, &checker, &mut sink)?;
        let (report, findings, failures) = sink.into_json()?;
        Ok((report, fixes(&self.new, &findings, &checker), failures))
    }

    /// Returns the manifests after all safe fixes. `None` if no fix applies.
    pub(crate) fn fix(&self) -> Option<String> {
        fix::all(self.new.text(), self.new.name(), &self.checker(&OldObjects::default()))
    }

    fn checker<'a>(&'a self, previous: &'a OldObjects) -> Checker<'a> {
        let mut context = InputContext::default();
        context.add(self.new.text());
        context.old_namespaces.add(self.old.text());
        context.may_refuse |= !self.cluster.text().is_empty();
        Checker::new(self.policy, previous, Delivery::default(), context, Strictness::default())
    }
}

fn fixes(
    source: &Source,
    findings: &[Diagnostic],
    checker: &Checker<'_>,
) -> Vec<(usize, VerifiedFix)> {
    let fixable = findings.iter().enumerate();
    let fixable = fixable.filter_map(|(i, finding)| Some((i, finding, finding.fix.as_ref()?)));
    let verified = fixable.take(MOST_FIXES).filter_map(|(i, finding, fix)| {
        let (edits, is_safe) = fix::one(source.text(), source.name(), finding, checker)?;
        Some((i, VerifiedFix { title: fix.title(), is_safe, edits }))
    });
    verified.collect()
}
