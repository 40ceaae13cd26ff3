//! What was found, in the formats that people and pipelines read.
//!
//! The text format prints each object as soon as it has been judged. All other formats are written from
//! what `collected` has kept, when everything is known.

pub(crate) mod args;
pub(crate) mod collected;
pub(crate) mod diagnostic;
pub(crate) mod file;
pub(crate) mod fingerprint;
mod github;
mod gitlab;
mod json;
mod junit;
pub(crate) mod policy;
mod policy_use;
pub(crate) mod progress;
pub(crate) mod reports;
mod sarif;
mod step_summary;
pub(crate) mod text;

use std::io::{self, Write};

use self::diagnostic::{Diagnostic, ObjectReport, Summary};
use crate::{manifests::source::Source, printable::Printable};

/// Something that is told everything that is found, in order.
pub(crate) trait Report {
    /// Findings in an object. The same object may come again, if more was found when all objects were
    /// known. `source` is where it is from; an object in a cluster is from none.
    fn object(&mut self, source: Option<&Source>, object: &ObjectReport) -> io::Result<()>;
    /// A document that could not be read.
    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()>;
    /// A failure that is no finding: the check is not complete. Standard error has it already.
    fn failure(&mut self, message: &str);
    /// Something that the user should know, such as what could not be read. Standard error has it
    /// already.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "only an audit has it"))]
    fn note(&mut self, message: &str);
    /// All has been reported.
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
}

/// Prints a note to standard error.
///
/// Runner: `src/Runner.Common/ActionCommand.cs`, `TryParse`.
pub(crate) fn note(text: &str) {
    let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "note: {text}");
}
