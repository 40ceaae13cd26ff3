use kube_yaml::{Documents, Mark};

use super::fixer::{Diagnostic, Place};

/// A part of a text with a single document. Documents share nothing, so an edit changes nothing in other parts.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    /// The number of lines before it.
    pub(crate) lines: usize,
}

impl<'a> Part<'a> {
    pub(crate) fn all(text: &'a str) -> impl Iterator<Item = Part<'a>> {
        let start = text.as_ptr().addr();
        Part::of(kube_yaml::documents(text)).map(move |it| Part { start: it.start - start, ..it })
    }

    /// Returns the parts of a JSON stream as one. A part starts at its address.
    pub(super) fn of(documents: Documents<'a>) -> impl Iterator<Item = Part<'a>> {
        documents.cut(1).into_iter().map(|documents| {
            let (text, lines) = documents.rest();
            Part { text, start: text.as_ptr().addr(), lines }
        })
    }

    pub(super) fn place(&self, finding: &Diagnostic) -> Place {
        let mark = Mark { line: finding.mark.line - self.lines, ..finding.mark };
        (finding.rule.id, finding.field.clone(), mark)
    }

    pub(crate) fn around(text: &'a str, line: usize) -> Option<Self> {
        Part::all(text).take_while(|part| part.lines < line).last()
    }
}
