//! A second copy of a list item, with a change.

use kube_yaml::{Kind, Span};

use super::edit::{Edit, Part, Texts};

impl Texts<'_> {
    /// Returns the edit that adds a copy after an item, with `with` as the text of the token number `value`. The copy
    /// has no comments.
    pub(super) fn copy(&self, item: &Part, value: usize, with: &str) -> Option<Edit> {
        let spans = self.spans.get(item.tokens.clone())?;
        if spans.iter().any(|span| matches!(span.kind, Kind::Anchor(_) | Kind::Alias(_))) {
            return None;
        }
        let bytes = self.bytes(item)?;
        let copy = self.copied(item, value, with)?;
        if item.is_flow {
            let before = self.spans.get(..item.tokens.start)?.iter().rev();
            let before = before.map(|span| &span.bytes).find(|bytes| !bytes.is_empty())?;
            let gap = self.text.get(before.end..bytes.start)?;
            let gap = if gap.is_empty() || !gap.trim().is_empty() { " " } else { gap };
            let with = format!(",{gap}{copy}");
            return Some(Edit { bytes: bytes.end..bytes.end, with });
        }
        let dash = &self.spans.get(item.tokens.start.checked_sub(1)?)?;
        if dash.kind != Kind::BlockEntry {
            return None;
        }
        let (start, end) = (self.line_start(dash.bytes.start)?, self.line_end(bytes.end)?);
        let indent = self.text.get(start..bytes.start)?;
        if !self.is_blank(start..dash.bytes.start, false) || !self.is_blank(bytes.end..end, true) {
            return None;
        }
        let line_break = self.line_break;
        let with = if self.text.get(..end)?.ends_with('\n') {
            format!("{indent}{copy}{line_break}")
        } else {
            format!("{line_break}{indent}{copy}")
        };
        Some(Edit { bytes: end..end, with })
    }

    fn copied(&self, item: &Part, value: usize, with: &str) -> Option<String> {
        let mut copied = String::new();
        let mut last: Option<usize> = None;
        for (number, Span { bytes, .. }) in
            item.tokens.clone().zip(self.spans.get(item.tokens.clone())?)
        {
            if bytes.is_empty() {
                continue;
            }
            if let Some(last) = last {
                let gap = self.text.get(last..bytes.start)?;
                copied.push_str(&without_comments(gap));
            }
            let text = self.text.get(bytes.clone())?;
            if number == value {
                let quote = text.get(..1).filter(|it| matches!(*it, "'" | "\"")).unwrap_or("");
                copied.push_str(&format!("{quote}{with}{quote}"));
            } else {
                copied.push_str(text);
            }
            last = Some(bytes.end);
        }
        Some(copied.trim_end().to_owned())
    }
}

/// Returns the text between two tokens without comments and comment-only lines.
fn without_comments(gap: &str) -> String {
    if gap.trim().is_empty() {
        return gap.to_owned();
    }
    let line_break = if gap.contains("\r\n") { "\r\n" } else { "\n" };
    let indent = gap.rsplit('\n').next().unwrap_or_default();
    format!("{line_break}{indent}")
}
