//! The summary of a step of GitHub Actions: a table in Markdown, on the page of the run.

use crate::report::prelude::*;

/// The maximum number of rows; GitHub accepts 1 MiB for each step.
const MAX_ROWS: usize = 500;
/// In bytes. A message may contain a value of any size.
const LONG_TEXT: usize = 600;

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "### setguard\n\n{}", collected.summary)?;
    if let Some(policy) = collected.policy.as_ref().filter(|it| it.weakens()) {
        writeln!(out, "\n{}", escape(&policy.to_string()))?;
    }
    for message in &collected.failures {
        writeln!(out, "\n**error** {}", escape(message))?;
    }
    for entry in collected.not_checked.iter().take(MAX_ROWS) {
        let sign = if entry.is_changed { "❌" } else { "ℹ️" };
        writeln!(out, "\n{sign} {}", escape(&entry.sentence()))?;
    }
    for (_, _, text) in collected.remarked().take(MAX_ROWS) {
        writeln!(out, "\nℹ️ {}", escape(&text))?;
    }
    let mut entries = collected.in_files();
    entries.sort_by_key(|entry| Reverse(entry.diagnostic.severity));
    if entries.is_empty() {
        return writeln!(out);
    }
    writeln!(out, "\n| | rule | place | object | finding |\n|---|---|---|---|---|")?;
    for entry in entries.iter().take(MAX_ROWS) {
        let diagnostic = &entry.diagnostic;
        let sign = match diagnostic.severity {
            Severity::Error => "❌",
            Severity::Warning => "⚠️",
            Severity::Note => "ℹ️",
        };
        let place =
            collected.file(entry).map(|file| format!("{}:{}", file.path, diagnostic.mark.line));
        let object = collected.object(entry).map(ToString::to_string);
        writeln!(
            out,
            "| {sign} | {} | {} | {} | {} |",
            diagnostic.rule.id,
            escape(&place.unwrap_or_default()),
            escape(&object.unwrap_or_default()),
            escape(&diagnostic.sentence()),
        )?;
    }
    let more = entries.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        writeln!(out, "\nand {more} more")?;
    }
    writeln!(out)
}

/// Returns one line without characters that have a meaning in Markdown.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(&shorten(text, LONG_TEXT)).chars() {
        match c {
            // These characters are plain in every position, and frequent.
            ' ' | '.' | ',' | ';' | '/' | '\'' | '"' | '-' | '=' => escaped.push(c),
            c if c.is_ascii_punctuation() => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}
