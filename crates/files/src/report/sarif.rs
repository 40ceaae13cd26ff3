//! SARIF 2.1.0, as GitHub code scanning accepts it.
//!
//! GitHub rejects a whole file if one result has no location, if `results` is missing, or if a line is 0.
//! `security-severity` is left out, because GitHub would show the rules as security alerts.
//!
//! Format: docs.oasis-open.org/sarif/sarif/v2.1.0.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
    io::{self, Write},
};

use kube_yaml::Mark;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use setguard_core::rules::rule::Rule;
use setguard_core::{
    catalogue,
    finding::{Meta, Mode, shorten},
    printable::Printable,
};

use super::{
    collected::{Collected, Entry},
    diagnostic::Severity,
    policy_use::PolicyUse,
};

/// GitHub accepts at most 1,024 characters.
const LONG_DESCRIPTION: usize = 1000;
/// The characters to escape in a URI, except the slashes between folders.
const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

#[derive(Debug, Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    /// Without this property, columns would count UTF-16 code units.
    column_kind: &'static str,
    invocations: [Invocation<'a>; 1],
    results: Vec<SarifResult<'a>>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Descriptor<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    id: &'a str,
    short_description: Message,
    full_description: Message,
    help: Help,
    help_uri: String,
    default_configuration: Configuration,
    properties: Properties,
}

#[derive(Debug, Serialize)]
struct Message {
    text: String,
}

#[derive(Debug, Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Debug, Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Debug, Serialize)]
struct Properties {
    precision: &'static str,
    #[serde(rename = "problem.severity")]
    severity: &'static str,
    tags: [&'static str; 2],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification<'a>>,
}

#[derive(Debug, Serialize)]
struct Notification<'a> {
    level: &'static str,
    message: Text<'a>,
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<RelatedLocation<'a>>,
    partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedLocation<'a> {
    physical_location: PhysicalLocation,
    message: Text<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Debug, Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    /// The column after the last one.
    end_column: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    name: &'a str,
    fully_qualified_name: String,
    kind: &'static str,
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
    let mut rules: Vec<_> = rules.map(|(rule, mode)| Descriptor::new(rule, *mode)).collect();
    rules.sort_by_key(|rule| rule.id);
    let left_out = (left_out > 0).then(|| {
        format!(
            "{left_out} more results, the least severe, are left out: GitHub takes {MOST_RESULTS}"
        )
    });
    let results = entries.into_iter().map(|entry| {
        let index = rules.binary_search_by_key(&entry.diagnostic.rule.id, |rule| rule.id);
        SarifResult::new(collected, entry, index.ok())
    });
    let results = results.collect();
    let policy = collected.policy.as_ref().filter(|it| it.weakens()).map(PolicyUse::to_string);
    let failures = collected.failures.iter().map(|text| ("error", text));
    let not_checked: Vec<_> = collected
        .not_checked
        .iter()
        .map(|it| (if it.is_changed { "error" } else { "warning" }, it.sentence()))
        .collect();
    let remarks: Vec<_> = collected.remarked().map(|(_, _, text)| text).collect();
    let notes = collected.notes.iter().chain(&policy).chain(&remarks).map(|text| ("note", text));
    let left_out = left_out.iter().map(|text| ("warning", text));
    let not_checked = not_checked.iter().map(|(level, text)| (*level, text));
    let notifications = failures.chain(not_checked).chain(left_out).chain(notes);
    let notifications =
        notifications.map(|(level, text)| Notification { level, message: Text { text } }).collect();
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "setguard",
                semantic_version: env!("CARGO_PKG_VERSION"),
                information_uri: catalogue::HOME,
                rules,
            },
        },
        column_kind: "unicodeCodePoints",
        invocations: [Invocation {
            execution_successful: collected.failures.is_empty(),
            tool_execution_notifications: notifications,
        }],
        results,
    };
    let schema = "https://json.schemastore.org/sarif-2.1.0.json";
    let mut out = Printable::new(out);
    serde_json::to_writer_pretty(&mut out, &Log { schema, version: "2.1.0", runs: [run] })?;
    writeln!(out)
}

impl<'a> Descriptor<'a> {
    fn new(rule: &'a Rule, mode: Mode) -> Self {
        let Meta { id, title, why, bad, good, .. } = rule.meta;
        let (why, bad, good) = (why.trim_end(), bad.trim_end(), good.trim_end());
        let first = why.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let severity = Severity::from(mode);
        Descriptor {
            id,
            short_description: Message { text: title.to_owned() },
            full_description: Message { text: shorten(&first, LONG_DESCRIPTION).into_owned() },
            help: Help {
                text: why.to_owned(),
                markdown: format!(
                    "{why}\n\nBad:\n\n```yaml\n{bad}\n```\n\nGood:\n\n```yaml\n{good}\n```"
                ),
            },
            help_uri: catalogue::url(&rule.meta),
            default_configuration: Configuration { level: severity.as_str() },
            properties: Properties {
                precision: "very-high",
                severity: match severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "recommendation",
                },
                tags: ["kubernetes", "reliability"],
            },
        }
    }
}

impl<'a> SarifResult<'a> {
    fn new(collected: &'a Collected, entry: &'a Entry, rule_index: Option<usize>) -> Self {
        let diagnostic = &entry.diagnostic;
        // `[text](target)` would be a link.
        let text = collected.sentence(entry).replace("](", "] (");
        let object = collected.object(entry).map(|id| LogicalLocation {
            name: &id.name,
            fully_qualified_name: id.to_string(),
            kind: "resource",
        });
        let fingerprint = collected.fingerprint(entry).digest();
        let place = |mark: Mark| {
            collected.path(entry).map(|path| PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri(&path) },
                region: mark.into(),
            })
        };
        let related = diagnostic.related.iter().filter_map(|(mark, text)| {
            Some(RelatedLocation { physical_location: place(*mark)?, message: Text { text } })
        });
        SarifResult {
            rule_id: diagnostic.rule.id,
            rule_index,
            level: diagnostic.severity.as_str(),
            message: Message { text },
            locations: [Location {
                physical_location: place(diagnostic.mark),
                logical_locations: object.into_iter().collect(),
            }],
            related_locations: related.collect(),
            partial_fingerprints: BTreeMap::from([("setguard/v1", fingerprint)]),
        }
    }
}

impl From<Mark> for Region {
    fn from(mark: Mark) -> Self {
        let (line, column) = (mark.line.max(1), mark.column.max(1));
        let end_column = column + mark.width.max(1);
        Region { start_line: line, start_column: column, end_line: line, end_column }
    }
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
