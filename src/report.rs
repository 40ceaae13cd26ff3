//! How judgements are told.

pub(crate) mod json;
pub(crate) mod text;

use std::io;

use crate::{
    check::judge::{Judgement, Said, Severity},
    exit::Exit,
    manifests::source::Source,
};

/// Tells judgements as they come.
pub(crate) trait Report {
    /// Tells of an object.
    fn judgement(&mut self, source: &Source, judgement: &Judgement) -> io::Result<()>;
    /// Tells of a document that could not be read.
    fn unreadable(&mut self, source: &Source, said: &Said) -> io::Result<()>;
    /// Tells the end.
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
}

/// What it came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) files: usize,
    /// DaemonSets and StatefulSets.
    pub(crate) objects: usize,
    /// Objects with an error.
    pub(crate) denied: usize,
    /// Objects with a warning, and no error.
    pub(crate) warned: usize,
    /// Objects of other kinds.
    pub(crate) others: usize,
    /// Documents that could not be read.
    pub(crate) unreadable: usize,
}

impl Summary {
    pub(crate) fn count(&mut self, judgement: &Judgement) {
        self.objects += 1;
        if let Some(count) = self.of(judgement.worst()) {
            *count += 1;
        }
    }

    /// Counts an object anew of which more was to be said later.
    pub(crate) fn count_again(&mut self, before: Option<Severity>, worst: Option<Severity>) {
        if let Some(count) = self.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.of(before.max(worst)) {
            *count += 1;
        }
    }

    fn of(&mut self, worst: Option<Severity>) -> Option<&mut usize> {
        match worst? {
            Severity::Error => Some(&mut self.denied),
            Severity::Warning => Some(&mut self.warned),
            Severity::Note => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        let denied = if self.denied > 0 { Exit::Denied } else { Exit::Clean };
        denied.and(if self.unreadable > 0 { Exit::Trouble } else { Exit::Clean })
    }
}
