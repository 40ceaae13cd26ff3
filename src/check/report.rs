//! How judgements are told.

pub(super) mod json;
pub(super) mod text;

use std::io;

use super::{
    input::Source,
    judge::{Judgement, Said, Severity},
};
use crate::exit::Exit;

/// Tells judgements as they come.
pub(super) trait Report {
    /// Tells of an object.
    fn judgement(&mut self, source: &Source, judgement: &Judgement) -> io::Result<()>;
    /// Tells of a document that could not be read.
    fn unreadable(&mut self, source: &Source, said: &Said) -> io::Result<()>;
    /// Tells the end.
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
}

/// What it came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    pub(super) files: usize,
    /// DaemonSets and StatefulSets.
    pub(super) objects: usize,
    /// Objects with an error.
    pub(super) denied: usize,
    /// Objects with a warning, and no error.
    pub(super) warned: usize,
    /// Objects of other kinds.
    pub(super) others: usize,
    /// Documents that could not be read.
    pub(super) unreadable: usize,
}

impl Summary {
    pub(super) fn count(&mut self, judgement: &Judgement) {
        self.objects += 1;
        match judgement.worst() {
            Some(Severity::Error) => self.denied += 1,
            Some(Severity::Warning) => self.warned += 1,
            Some(Severity::Note) | None => {}
        }
    }

    pub(super) fn exit(&self) -> Exit {
        let denied = if self.denied > 0 { Exit::Denied } else { Exit::Clean };
        denied.and(if self.unreadable > 0 { Exit::Trouble } else { Exit::Clean })
    }
}
