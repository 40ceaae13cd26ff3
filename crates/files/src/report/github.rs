//! Annotations of GitHub Actions: log lines that GitHub shows next to the changed lines.
//!
//! GitHub shows ten errors and ten warnings of a step, so denials come first. The runner reads commands from every line
//! of the log, so text from a manifest never begins a line.
//!
//! Escapes: `packages/core/src/command.ts` in github.com/actions/toolkit.

use crate::report::prelude::*;

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Printable::new(out);
    let mut entries = collected.in_files();
    entries.sort_by_key(|entry| Reverse(entry.diagnostic.severity));
    for entry in entries {
        annotation(collected, entry, &mut out)?;
    }
    for (_, _, text) in collected.remarked() {
        writeln!(out, "::notice title=setguard::{}", data(&text))?;
    }
    let mut not_checked: Vec<_> = collected.not_checked.iter().collect();
    not_checked.sort_by_key(|it| Reverse(it.is_changed));
    for entry in not_checked {
        let command = if entry.is_changed { "error" } else { "notice" };
        let (path, line) = (collected.path_of(entry), entry.line.unwrap_or(1));
        let path = property(&path);
        let text = entry.sentence();
        writeln!(out, "::{command} file={path},line={line},title=setguard::{}", data(&text))?;
    }
    if let Some(policy) = collected.policy.as_ref().filter(|it| it.weakens()) {
        writeln!(out, "::notice title=setguard::{}", data(&policy.to_string()))?;
    }
    writeln!(out, "{}", collected.summary)
}

/// The runner shows this as an error. Other formats print the message to standard error.
pub(super) fn error(message: &str) -> String {
    format!("::error title=setguard::{}", data(message))
}

fn annotation(collected: &Collected, entry: &Entry, out: &mut impl Write) -> io::Result<()> {
    let command = match entry.diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    write!(out, "::{command} ")?;
    if let Some(file) = collected.file(entry) {
        let mark = entry.diagnostic.mark;
        let (line, column) = (mark.line.max(1), mark.column.max(1));
        // Unlike in SARIF, the last column is part of the range.
        let end = column + mark.width.max(1) - 1;
        let path = property(&file.path);
        write!(out, "file={path},line={line},endLine={line},col={column},endColumn={end},")?;
    }
    let title = format!("setguard: {} ({})", entry.diagnostic.title, entry.diagnostic.rule.id);
    writeln!(out, "title={}::{}", property(&title), data(&collected.sentence(entry)))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
