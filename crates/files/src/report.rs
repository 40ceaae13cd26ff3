//! The findings, in the formats that people and pipelines read.
//!
//! The text format prints each object as soon as it is evaluated. `collected` keeps the findings for all other formats.

pub mod args;
pub mod changes;
pub mod collected;
mod concise;
pub mod diagnostic;
pub mod file;
pub mod fingerprint;
mod github;
mod gitlab;
pub mod json;
pub mod junit;
mod pipe;
pub mod policy;
mod policy_use;
mod prelude;
pub mod progress;
pub mod reports;
mod sarif;
pub mod screen;
mod step_summary;
pub mod text;

use std::io::{self, Write};

use setguard_core::printable::Printable;

use self::{
    changes::Changes,
    diagnostic::{Diagnostic, Folded, ObjectReport, Severity, Summary},
};
use crate::manifests::{not_checked::NotChecked, source::Source};

/// A receiver of all findings, in order. Its methods return an error if the output cannot be written.
#[expect(clippy::missing_errors_doc, reason = "the errors are the same for all")]
pub trait Report {
    /// Leaves out findings below a severity.
    fn limit(&mut self, _: Severity) {}
    /// Reports the totals of a cluster, before its objects.
    fn overview(&mut self, _: &Summary, _: &[ObjectReport]) -> io::Result<()> {
        Ok(())
    }
    /// Reports the findings in an object. An object may come twice, if rules about several objects find more in it.
    /// `source` is its file; an object in a cluster has none.
    fn object(&mut self, source: Option<&Source>, object: &ObjectReport) -> io::Result<()>;
    /// Reports a finding once for many objects. Each of the objects has it too.
    fn folded(&mut self, _: &Folded) -> io::Result<()> {
        Ok(())
    }
    /// Reports the changes since an earlier audit, after all objects.
    fn changes(&mut self, _: &Changes) -> io::Result<()> {
        Ok(())
    }
    /// Reports a document that could not be read.
    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()>;
    /// Reports entries that were not checked, after all objects.
    fn not_checked(&mut self, entries: &[NotChecked]);
    /// Reports a failure that isn't a finding: the check is incomplete. Standard error already shows it.
    fn failure(&mut self, message: &str);
    /// Reports a note, for example about objects that could not be read. Standard error already shows it.
    fn note(&mut self, message: &str);
    /// Ends the report.
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
}

/// Prints a note to standard error.
pub fn note(text: &str) {
    let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "note: {text}");
}
