//! The content of a report. It contains no times or other values that change while the findings stay the same.

use serde::Serialize;

use super::api::{Api, Key};
use crate::audit::found::Entry;
use crate::prelude::*;

pub(super) const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "setguard");
/// The most findings in a report; the summary counts the rest. etcd rejects objects larger than 1.5 MiB.
const MOST_RESULTS: usize = 100;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    scope: Reference<'a>,
    summary: Summary,
    results: Vec<PolicyResult>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: String,
    namespace: &'a str,
    labels: BTreeMap<&'static str, &'static str>,
    owner_references: [Reference<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    api_version: &'static str,
    kind: &'static str,
    /// An owner has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    name: &'a str,
    uid: &'a str,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    pass: usize,
    fail: usize,
    warn: usize,
    error: usize,
    skip: usize,
}

/// A finding. The API calls it a result.
#[derive(Debug, Serialize)]
struct PolicyResult {
    source: &'static str,
    policy: &'static str,
    category: &'static str,
    severity: &'static str,
    result: &'static str,
    message: String,
    scored: bool,
    properties: BTreeMap<&'static str, String>,
}

impl<'a> Report<'a> {
    /// Returns `None` if there is nothing to report, or if the object is cluster-scoped, because reports are
    /// namespaced.
    pub(super) fn of(api: &Api, object: &'a ObjectName, entry: &Entry) -> Option<Self> {
        let ObjectName { namespace, name, api_version, uid, .. } = object;
        let kind = object.kind.as_str();
        if namespace.is_empty() || uid.is_empty() {
            return None;
        }
        let results: Vec<_> = entry.diagnostics.iter().filter_map(PolicyResult::of).collect();
        if results.is_empty() {
            return None;
        }
        let count = |result| results.iter().filter(|it| it.result == result).count();
        let summary = Summary {
            fail: count("fail"),
            warn: count("warn"),
            skip: count("skip"),
            ..Summary::default()
        };
        Some(Report {
            api_version: api.group_version,
            kind: api.kind,
            metadata: Metadata {
                name: format!("setguard-{uid}"),
                namespace,
                labels: BTreeMap::from([LABEL]),
                owner_references: [Reference { api_version, kind, namespace: None, name, uid }],
            },
            source: api.has_source.then_some("setguard"),
            scope: Reference { api_version, kind, namespace: Some(namespace), name, uid },
            summary,
            results: results.into_iter().take(MOST_RESULTS).collect(),
        })
    }

    pub(super) fn key(&self) -> Key {
        (self.metadata.namespace.to_owned(), self.metadata.name.clone())
    }
}

impl PolicyResult {
    /// Converts a finding. Skips notes, except for findings that an exception downgraded.
    fn of(diagnostic: &Diagnostic) -> Option<Self> {
        let (result, severity) = match (&diagnostic.downgrade, diagnostic.severity) {
            (_, Severity::Error) => ("fail", "high"),
            (_, Severity::Warning) => ("warn", "medium"),
            (Some(_), Severity::Note) => ("skip", "low"),
            (None, Severity::Note) => return None,
        };
        let reason = diagnostic.downgrade.clone().map(|reason| ("reason", reason));
        let field = Some(("field", diagnostic.field.clone())).filter(|(_, it)| !it.is_empty());
        Some(PolicyResult {
            source: "setguard",
            policy: diagnostic.rule.id,
            category: "DaemonSets and StatefulSets",
            severity,
            result,
            message: diagnostic.text(),
            scored: true,
            properties: reason.into_iter().chain(field).collect(),
        })
    }
}
