//! Findings as text and as JSON, with the lines that they are about.
//!
//! Imports: policy, manifests, yaml, finding, exit, printable.

pub(crate) mod diagnostic;
pub(crate) mod fingerprint;
pub(crate) mod json;
pub(crate) mod policy;
pub(crate) mod text;

use std::io;

use self::diagnostic::{Diagnostic, ObjectReport, Summary};
use crate::manifests::source::Source;

/// An output format. It receives each object as soon as the object has been judged.
pub(crate) trait Report {
    /// Reports an object.
    fn object(&mut self, source: &Source, object: &ObjectReport) -> io::Result<()>;
    /// Reports a document that could not be read.
    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()>;
    /// Finishes the report.
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
}
