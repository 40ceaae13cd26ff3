//! A rule as Markdown.

use std::fmt::Write as _;

use super::{kinds, url};
use crate::rules::rule::Rule;

/// Returns the explanation of a rule for an editor, with the address of its page.
pub fn explanation(rule: &Rule) -> String {
    let meta = &rule.meta;
    let mut out = format!(
        "### [{id}]({url})\n\n{summary}.\n\nDefault: `{mode}`. Kinds: {kinds}.\n\n{why}\n",
        id = meta.id,
        url = url(meta),
        summary = capitalised(meta.summary),
        mode = meta.mode,
        kinds = kinds(rule),
        why = meta.why.trim_end(),
    );
    for (title, manifest) in [("Bad", meta.bad), ("Good", meta.good)] {
        let manifest = manifest.trim_end();
        if !manifest.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\n#### {title}\n\n```yaml\n{manifest}\n```\n");
        }
    }
    out
}

/// Returns a text with its first letter in upper case.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
