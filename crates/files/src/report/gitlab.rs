//! The Code Quality report of GitLab.
//!
//! GitLab shows neither the name of the check nor two findings with one fingerprint.
//!
//! Format: docs.gitlab.com/ci/testing/code_quality.

use serde::Serializer as _;
use serde_json::{Value, json};

use super::fingerprint::digest;
use crate::report::prelude::*;

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let findings = collected.in_files().into_iter().map(|entry| {
        let (diagnostic, path) = (&entry.diagnostic, collected.path(entry).unwrap_or_default());
        let (rule, line) = (diagnostic.rule.id, diagnostic.mark.line.max(1));
        let severity = match diagnostic.severity {
            Severity::Error => "critical",
            Severity::Warning => "minor",
            Severity::Note => "info",
        };
        let text = format!("{} ({rule}): {}", diagnostic.title, collected.sentence(entry));
        issue(&text, rule, &collected.fingerprint(entry).digest(), severity, &path, line)
    });
    let not_checked = collected.not_checked.iter().map(|entry| {
        let (path, line) = (collected.path_of(entry), entry.line);
        let what = format!("{path} {line:?} {}", entry.cause.as_str());
        let severity = if entry.is_changed { "critical" } else { "info" };
        let text = format!("not checked: {}", entry.sentence());
        issue(&text, "not-checked", &digest(&what), severity, &path, line.unwrap_or(1))
    });
    let remarks = collected.remarked().filter_map(|(_, object, text)| {
        let path = &collected.files.get(object.file?)?.path;
        Some(issue(&text, "remark", &digest(&format!("{path} {text}")), "info", path, 1))
    });
    let mut out = Printable::new(out);
    let issues = findings.chain(not_checked).chain(remarks);
    serde_json::Serializer::pretty(&mut out).collect_seq(issues)?;
    writeln!(out)
}

fn issue(text: &str, check: &str, id: &str, severity: &str, path: &str, line: usize) -> Value {
    json!({
        "description": text,
        "check_name": check,
        "fingerprint": id,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    })
}
