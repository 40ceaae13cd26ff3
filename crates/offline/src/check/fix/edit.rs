//! Edits of a text.

use std::ops::Range;

use kube_yaml::{Kind, Mark, Node, Span, Value};
use setguard_core::finding::{Change, Field};

use super::change::get;

/// A replacement of some bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub bytes: Range<usize>,
    /// The new text.
    pub with: String,
}

/// Returns the text after these edits, in any order. `None` if two edits touch the same bytes.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    let (mut edited, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        edited.push_str(text.get(at..edit.bytes.start)?);
        edited.push_str(&edit.with);
        at = edit.bytes.end;
    }
    edited.push_str(text.get(at..)?);
    Some(edited)
}

#[derive(Debug)]
pub(super) struct Texts<'a> {
    pub(super) text: &'a str,
    pub(super) spans: Vec<Span<'a>>,
    in_brackets: Vec<bool>,
    pub(super) line_break: &'static str,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The token numbers. An entry starts at its key, an item at its value.
    pub(super) tokens: Range<usize>,
    pub(super) is_flow: bool,
}

impl<'a> Texts<'a> {
    pub(super) fn new(text: &'a str, spans: Vec<Span<'a>>) -> Self {
        let mut depth = 0_usize;
        let in_brackets = spans.iter().map(|span| {
            let before = depth;
            match span.kind {
                Kind::FlowMapping | Kind::FlowList => depth += 1,
                Kind::FlowMappingEnd | Kind::FlowListEnd => depth = depth.saturating_sub(1),
                _ => {}
            }
            before > 0
        });
        let in_brackets = in_brackets.collect();
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Texts { text, spans, in_brackets, line_break }
    }

    /// Returns the edits that make exactly this change to an object of the text. `None` if no edits can.
    pub(super) fn edits(&self, change: &Change, object: &Node<'_>) -> Option<Vec<Edit>> {
        match change {
            Change::Remove(field) => self.remove(&self.part(object, field)?),
            Change::Rename(field, to) => {
                let key = self.spans.get(self.part(object, field)?.tokens.start)?;
                Some(vec![Edit { bytes: key.bytes.clone(), with: to.clone() }])
            }
            Change::Copy { items, key } => items
                .iter()
                .map(|field| {
                    let item = get(object, field.steps())?;
                    let value = self.scalar_at(item.get("key")?.mark)?;
                    self.copy(&self.part(object, field)?, value, key)
                })
                .collect(),
        }
    }

    fn part(&self, object: &Node<'_>, field: &Field) -> Option<Part> {
        let node = get(object, field.steps())?;
        let steps: Vec<_> = field.steps().collect();
        let (_, parents) = steps.split_last()?;
        let parent = get(object, parents.iter().copied())?;
        let (first, value) = match &parent.value {
            Value::Map(entries) => {
                let (key, _) = entries.iter().find(|(_, it)| std::ptr::eq(it, node))?;
                let first = self.scalar_at(key.mark)?;
                let next = self.spans.get(first + 1)?;
                (first, if next.kind == Kind::Value { first + 2 } else { return None })
            }
            Value::Seq(_) => {
                let is_first = |kind: &Kind<'_>| !matches!(kind, Kind::BlockEnd | Kind::Key);
                let first = self.find(node.mark, is_first)?;
                (first, first)
            }
            _ => return None,
        };
        let end = self.end_of_value(value)?;
        Some(Part { tokens: first..end, is_flow: *self.in_brackets.get(first)? })
    }

    fn scalar_at(&self, mark: Mark) -> Option<usize> {
        self.find(mark, |kind| matches!(kind, Kind::Scalar(..)))
    }

    fn find(&self, mark: Mark, is_it: impl Fn(&Kind<'_>) -> bool) -> Option<usize> {
        let place = |mark: Mark| (mark.line, mark.column);
        let first = self.spans.partition_point(|span| place(span.mark) < place(mark));
        let here = self.spans.get(first..)?.iter();
        let mut here = here.take_while(|span| place(span.mark) == place(mark));
        here.position(|span| is_it(&span.kind)).map(|i| first + i)
    }

    /// Returns the number of the token after the value that begins at this token.
    fn end_of_value(&self, mut at: usize) -> Option<usize> {
        while matches!(self.spans.get(at)?.kind, Kind::Anchor(_) | Kind::Tag(_)) {
            at += 1;
        }
        let is_open_list = self.spans.get(at)?.kind == Kind::BlockEntry;
        let mut depth = 0_usize;
        loop {
            let kind = &self.spans.get(at)?.kind;
            match kind {
                Kind::BlockMapping | Kind::BlockList | Kind::FlowMapping | Kind::FlowList => {
                    depth += 1;
                }
                Kind::BlockEnd | Kind::FlowMappingEnd | Kind::FlowListEnd => {
                    // The token ends the collection around an empty value, or around a list that is not indented.
                    let Some(less) = depth.checked_sub(1) else { return Some(at) };
                    depth = less;
                }
                Kind::Key | Kind::Value | Kind::FlowEntry | Kind::End | Kind::DocumentEnd
                    if depth == 0 =>
                {
                    return Some(at);
                }
                _ => {}
            }
            at += 1;
            if depth == 0 && !is_open_list {
                return Some(at);
            }
        }
    }

    pub(super) fn bytes(&self, part: &Part) -> Option<Range<usize>> {
        let spans = self.spans.get(part.tokens.clone())?.iter();
        let spans = spans.filter(|span| !span.bytes.is_empty());
        let (mut start, mut end) = (usize::MAX, 0);
        for span in spans {
            (start, end) = (start.min(span.bytes.start), end.max(span.bytes.end));
        }
        // The tokens of a block scalar include the empty lines after it.
        let text = self.text.get(start..end)?;
        Some(start..start + text.trim_end().len())
    }

    pub(super) fn line_start(&self, at: usize) -> Option<usize> {
        Some(self.text.get(..at)?.rfind('\n').map_or(0, |end| end + 1))
    }

    pub(super) fn line_end(&self, at: usize) -> Option<usize> {
        Some(self.text.get(at..)?.find('\n').map_or(self.text.len(), |end| at + end + 1))
    }

    /// Returns whether the bytes are only spaces, line breaks and, with `comments`, comments.
    pub(super) fn is_blank(&self, bytes: Range<usize>, comments: bool) -> bool {
        let text = self.text.get(bytes).unwrap_or("x");
        text.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || comments && line.starts_with('#')
        })
    }
}
