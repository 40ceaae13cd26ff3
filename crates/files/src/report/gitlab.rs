//! The Code Quality report of GitLab.
//!
//! GitLab shows neither the name of the check nor two findings with one fingerprint.
//!
//! Format: docs.gitlab.com/ci/testing/code_quality.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use serde::Serialize;
use setguard_core::printable::Printable;

use super::{
    collected::{Collected, Entry},
    diagnostic::Severity,
    fingerprint::digest,
};
use crate::manifests::not_checked::NotChecked;

#[derive(Debug, Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Debug, Serialize)]
struct Location<'a> {
    path: Cow<'a, str>,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: usize,
}

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let entries = collected.in_files();
    let issues = entries.into_iter().map(|entry| Issue::new(collected, entry));
    let not_checked = collected.not_checked.iter().map(|it| Issue::of_not_checked(collected, it));
    let remarks = collected.remarked().filter_map(|(_, object, text)| {
        let file = collected.files.get(object.file?)?;
        Some(Issue {
            fingerprint: digest(&format!("{} {text}", file.path)),
            description: text,
            check_name: "remark",
            severity: "info",
            location: Location { path: file.path.as_str().into(), lines: Lines { begin: 1 } },
        })
    });
    let issues: Vec<_> = issues.chain(not_checked).chain(remarks).collect();
    let mut out = Printable::new(out);
    serde_json::to_writer_pretty(&mut out, &issues)?;
    writeln!(out)
}

impl<'a> Issue<'a> {
    fn of_not_checked(collected: &'a Collected, entry: &NotChecked) -> Self {
        let path = collected.path_of(entry);
        let what = format!("{path} {:?} {}", entry.line, entry.cause.as_str());
        Issue {
            description: format!("not checked: {}", entry.sentence()),
            check_name: "not-checked",
            fingerprint: digest(&what),
            severity: if entry.is_changed { "critical" } else { "info" },
            location: Location {
                path: path.into(),
                lines: Lines { begin: entry.line.unwrap_or(1) },
            },
        }
    }

    fn new(collected: &'a Collected, entry: &'a Entry) -> Self {
        let diagnostic = &entry.diagnostic;
        let rule = diagnostic.rule.id;
        Issue {
            description: format!("{} ({rule}): {}", diagnostic.title, collected.sentence(entry)),
            check_name: rule,
            fingerprint: collected.fingerprint(entry).digest(),
            severity: match diagnostic.severity {
                Severity::Error => "critical",
                Severity::Warning => "minor",
                Severity::Note => "info",
            },
            location: Location {
                path: collected.path(entry).unwrap_or_default(),
                lines: Lines { begin: diagnostic.mark.line.max(1) },
            },
        }
    }
}
