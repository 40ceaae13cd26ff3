//! SARIF 2.1.0, as GitHub code scanning accepts it.
//!
//! GitHub rejects a whole file if one result has no location, if `results` is missing, or if a line is 0.
//! `security-severity` is left out, because GitHub would show the rules as security alerts.
//!
//! Format: docs.oasis-open.org/sarif/sarif/v2.1.0.

use std::collections::HashSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serializer;
use serde_json::{Value, json};
use setguard_core::rules::rule::Rule;

use crate::report::prelude::*;

/// GitHub accepts at most 1,024 characters.
const LONG_DESCRIPTION: usize = 1000;
/// The characters to escape in a URI, except the slashes between folders.
const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Value,
    /// Without this property, columns would count UTF-16 code units.
    column_kind: &'static str,
    invocations: [Value; 1],
    results: Results<'a>,
}

/// Only one result at a time is in memory in this form. The rules are sorted by id.
struct Results<'a> {
    collected: &'a Collected,
    entries: Vec<&'a Entry>,
    rules: Vec<&'static str>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|entry| {
            let index = self.rules.binary_search(&entry.diagnostic.rule.id);
            result(self.collected, entry, index.ok())
        }))
    }
}

/// The maximum number of results that GitHub takes from a run.
const MOST_RESULTS: usize = 25_000;

/// Returns the most severe results, in their order, and the number of others.
fn most_severe<T>(all: Vec<T>, most: usize, severity: impl Fn(&T) -> Severity) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(most);
    if left_out == 0 {
        return (all, 0);
    }
    let mut all: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    all.sort_by_key(|(_, it)| Reverse(severity(it)));
    all.truncate(most);
    all.sort_by_key(|(index, _)| *index);
    (all.into_iter().map(|(_, it)| it).collect(), left_out)
}

pub(super) fn write(collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
    let entries = collected.in_files();
    let (entries, left_out) = most_severe(entries, MOST_RESULTS, |it| it.diagnostic.severity);
    // With every rule, the smallest report has half a megabyte.
    let met: HashSet<_> = entries.iter().map(|it| it.diagnostic.rule.id).collect();
    let rules = collected.rules.iter().filter(|(rule, _)| met.contains(rule.meta.id));
    let mut rules: Vec<_> = rules.collect();
    rules.sort_by_key(|(rule, _)| rule.meta.id);
    let descriptors: Vec<_> = rules.iter().map(|(rule, mode)| descriptor(rule, *mode)).collect();
    let note = |level: &str, text: &str| json!({"level": level, "message": {"text": text}});
    let failures = collected.failures.iter().map(|it| note("error", it));
    let not_checked = collected
        .not_checked
        .iter()
        .map(|it| note(if it.is_changed { "error" } else { "warning" }, &it.sentence()));
    let left_out = (left_out > 0).then(|| {
        let text = format!(
            "{left_out} more results, the least severe, are left out: GitHub takes {MOST_RESULTS}"
        );
        note("warning", &text)
    });
    let policy = collected.policy.as_ref().filter(|it| it.weakens()).map(PolicyUse::to_string);
    let remarks = collected.remarked().map(|(_, _, text)| text);
    let notes = collected.notes.iter().cloned().chain(policy).chain(remarks);
    let notes = notes.map(|it| note("note", &it));
    let notifications: Vec<_> = failures.chain(not_checked).chain(left_out).chain(notes).collect();
    let run = Run {
        tool: json!({"driver": {
            "name": "setguard",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "informationUri": catalogue::HOME,
            "rules": descriptors,
        }}),
        column_kind: "unicodeCodePoints",
        invocations: [filled(json!({
            "executionSuccessful": collected.failures.is_empty(),
            "toolExecutionNotifications": notifications,
        }))],
        results: Results {
            collected,
            entries,
            rules: rules.iter().map(|(rule, _)| rule.meta.id).collect(),
        },
    };
    let schema = "https://json.schemastore.org/sarif-2.1.0.json";
    let mut out = Printable::new(out);
    serde_json::to_writer_pretty(&mut out, &Log { schema, version: "2.1.0", runs: [run] })?;
    writeln!(out)
}

/// Leaves out properties that are null or an empty list.
fn filled(mut object: Value) -> Value {
    if let Value::Object(properties) = &mut object {
        properties.retain(|_, it| !it.is_null() && it.as_array().is_none_or(|it| !it.is_empty()));
    }
    object
}

fn descriptor(rule: &Rule, mode: Mode) -> Value {
    let Meta { id, title, why, bad, good, .. } = rule.meta;
    let (why, bad, good) = (why.trim_end(), bad.trim_end(), good.trim_end());
    let first = why.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let markdown = format!("{why}\n\nBad:\n\n```yaml\n{bad}\n```\n\nGood:\n\n```yaml\n{good}\n```");
    let severity = Severity::from(mode);
    json!({
        "id": id,
        "shortDescription": {"text": title},
        "fullDescription": {"text": shorten(&first, LONG_DESCRIPTION)},
        "help": {"text": why, "markdown": markdown},
        "helpUri": catalogue::url(&rule.meta),
        "defaultConfiguration": {"level": severity.as_str()},
        "properties": {
            "precision": "very-high",
            "problem.severity": match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "recommendation",
            },
            "tags": ["kubernetes", "reliability"],
        },
    })
}

fn result(collected: &Collected, entry: &Entry, rule_index: Option<usize>) -> Value {
    let diagnostic = &entry.diagnostic;
    // `[text](target)` would be a link.
    let text = match diagnostic.message.starts_with(&diagnostic.title) {
        true => collected.sentence(entry),
        false => format!("{}: {}", diagnostic.title, collected.sentence(entry)),
    };
    let text = text.replace("](", "] (");
    let object = collected.object(entry).map(
        |id| json!({"name": id.name, "fullyQualifiedName": id.to_string(), "kind": "resource"}),
    );
    let place = |mark: Mark| {
        let (line, column) = (mark.line.max(1), mark.column.max(1));
        Some(json!({
            "artifactLocation": {"uri": uri(&collected.path(entry)?)},
            "region": {
                "startLine": line,
                "startColumn": column,
                "endLine": line,
                // The column after the last one.
                "endColumn": column + mark.width.max(1),
            },
        }))
    };
    let related = diagnostic.related.iter().filter_map(|(mark, text)| {
        Some(json!({"physicalLocation": place(*mark)?, "message": {"text": text}}))
    });
    filled(json!({
        "ruleId": diagnostic.rule.id,
        "ruleIndex": rule_index,
        "level": diagnostic.severity.as_str(),
        "message": {"text": text},
        "locations": [filled(json!({
            "physicalLocation": place(diagnostic.mark),
            "logicalLocations": Vec::from_iter(object),
        }))],
        "relatedLocations": related.collect::<Vec<_>>(),
        "partialFingerprints": {"setguard/v1": collected.fingerprint(entry).digest()},
    }))
}

/// Returns a URI relative to the root of the repository, or an absolute one for a file outside.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, IN_PATH))
}

#[cfg(test)]
mod tests {
    use super::{Severity::*, *};

    #[test]
    fn the_least_severe_results_are_left_out() {
        let all = vec![('a', Note), ('b', Error), ('c', Note), ('d', Warning)];
        let kept = |most| most_severe(all.clone(), most, |it| it.1);
        let names = |most| kept(most).0.iter().map(|it| it.0).collect::<String>();
        assert_eq!((names(4).as_str(), kept(4).1), ("abcd", 0));
        assert_eq!((names(3).as_str(), kept(3).1), ("abd", 1));
        assert_eq!((names(1).as_str(), kept(1).1), ("b", 3));
    }
}
