use std::ops::Range;

use kube_yaml::{Kind, Span};

use super::edit::{Edit, Part, Texts};

impl Texts<'_> {
    /// Returns the edits that remove a part and the comments in its lines. Comments above the part stay.
    pub(super) fn remove(&self, part: &Part) -> Option<Vec<Edit>> {
        let bytes = self.bytes(part)?;
        if part.is_flow {
            return self.remove_in_brackets(part, bytes);
        }
        // The dash of an item is the token before it.
        let dash = part.tokens.start.checked_sub(1).and_then(|it| self.spans.get(it));
        let start = match dash {
            Some(Span { kind: Kind::BlockEntry, bytes: dash, .. }) => dash.start,
            _ => bytes.start,
        };
        Some(vec![self.remove_lines(start..bytes.end)?])
    }

    fn remove_lines(&self, bytes: Range<usize>) -> Option<Edit> {
        let (start, end) = (self.line_start(bytes.start)?, self.line_end(bytes.end)?);
        let is_alone =
            self.is_blank(start..bytes.start, false) && self.is_blank(bytes.end..end, true);
        is_alone.then(|| Edit { bytes: start..end, with: String::new() })
    }

    /// Removes an entry or an item with one comma.
    fn remove_in_brackets(&self, part: &Part, bytes: Range<usize>) -> Option<Vec<Edit>> {
        let without = |bytes| Edit { bytes, with: String::new() };
        let after = self.spans.get(part.tokens.end..)?;
        if let [Span { kind: Kind::FlowEntry, bytes: comma, .. }, next, ..] = after {
            if let Some(lines) = self.remove_lines(bytes.start..comma.end) {
                return Some(vec![lines]);
            }
            let blank = self.text.get(comma.end..next.bytes.start)?;
            let is_one_line = !blank.contains('\n') && blank.trim().is_empty();
            let end = if is_one_line { next.bytes.start } else { comma.end };
            return Some(vec![without(bytes.start..end)]);
        }
        let comma = self.comma_before(part.tokens.start)?.bytes.clone();
        if self.is_blank(comma.end..bytes.start, false) {
            return Some(vec![without(comma.start..bytes.end)]);
        }
        let rest = self.remove_lines(bytes.clone()).unwrap_or_else(|| without(bytes));
        Some(vec![without(comma), rest])
    }

    /// Returns the comma before a token, skipping tokens without text.
    fn comma_before(&self, token: usize) -> Option<&Span<'_>> {
        let before = self.spans.get(..token)?.iter().rev();
        let mut before = before.skip_while(|span| span.bytes.is_empty() || span.kind == Kind::Key);
        before.next().filter(|span| span.kind == Kind::FlowEntry)
    }
}
