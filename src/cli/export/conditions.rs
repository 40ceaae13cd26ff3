//! The conditions of policies, and the expressions that all kinds of policies share.

use jiff::civil::Date;
use serde_json::Value;
use setguard_core::{
    finding::Meta,
    kubernetes::kind::Kind,
    policy::{Exception, Policy},
    rules::rule::cel::MACROS,
};

use super::objects::{condition, list, quote};

/// The exceptions from a rule.
pub(super) struct Exceptions {
    /// An expression that is true for the objects that are exempt.
    covered: Option<String>,
    /// When the first of them ends.
    ends: Option<Date>,
}

impl Exceptions {
    /// Returns the exceptions from a rule that have not expired.
    pub(super) fn of(policy: &Policy, meta: &Meta, today: Date) -> Self {
        let all: Vec<_> = policy
            .exceptions
            .iter()
            .filter(|it| {
                !it.names_files()
                    && it.is_about(meta)
                    && it.expires.is_none_or(|last| last >= today)
            })
            .collect();
        let covered: Vec<_> = all.iter().map(|it| format!("({})", covers(it))).collect();
        Exceptions {
            covered: (!covered.is_empty()).then(|| covered.join(" || ")),
            ends: all.iter().filter_map(|it| it.expires).min(),
        }
    }

    pub(super) fn covered(&self) -> Option<&str> {
        self.covered.as_deref()
    }

    /// Returns the condition that no exception covers the object.
    pub(super) fn condition(&self) -> Option<Value> {
        self.covered.as_ref().map(|it| condition("no-exception", format!("!({it})")))
    }

    /// Returns a comment that says when the first of them ends.
    pub(super) fn remark(&self, id: &str) -> Option<String> {
        let remark =
            |day| format!("An exception from {id} ends on {day}: export again after that day.");
        self.ends.map(remark)
    }
}

/// Returns an expression that is true for the objects that an exception covers.
fn covers(exception: &Exception) -> String {
    about(exception.namespaces(), exception.names()).unwrap_or_else(|| "true".to_owned())
}

/// Returns an expression that is true for the objects with one of these namespaces and names;
/// `None` if it is true for all objects.
pub(super) fn about(namespaces: &[String], names: &[String]) -> Option<String> {
    let any = |value: &str, patterns: &[String]| {
        let pattern: Vec<_> = patterns.iter().map(|it| regex(it)).collect();
        format!("{value}.matches({})", quote(&format!("^({})$", pattern.join("|"))))
    };
    let parts = [("request.namespace", namespaces), ("object.metadata.name", names)];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, patterns)| !patterns.is_empty())
        .map(|(value, patterns)| any(value, patterns))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" && "))
}

/// Returns an expression that is true for requests by these users, or by members of these groups;
/// `None` if there are none.
pub(super) fn listed(users: &[String], groups: &[String]) -> Option<String> {
    let users =
        (!users.is_empty()).then(|| format!("request.userInfo.username in {}", list(users)));
    let groups = (!groups.is_empty()).then(|| {
        let groups = list(groups);
        format!("request.userInfo.?groups.orValue([]).exists(group, group in {groups})")
    });
    let either: Vec<_> = users.into_iter().chain(groups).collect();
    (!either.is_empty()).then(|| either.join(" || "))
}

/// Converts a pattern, where `*` stands for any text, to a regular expression.
fn regex(pattern: &str) -> String {
    let mut regex = String::new();
    for c in pattern.chars() {
        match c {
            '*' => regex.push_str(".*"),
            c if c.is_alphanumeric() || c == '-' => regex.push(c),
            c if c.is_ascii() => regex.extend(['\\', c]),
            c => regex.push(c),
        }
    }
    regex
}

/// Replaces the macros of an expression about this object.
pub(super) fn expand(expression: &str, object: &str) -> String {
    let mut text = expression.to_owned();
    for (name, meaning) in MACROS {
        text = text.replace(name, meaning);
    }
    text.replace('@', object)
}

/// Returns the resource of a kind of set.
pub(super) const fn resource(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::DaemonSet => Some("daemonsets"),
        Kind::StatefulSet => Some("statefulsets"),
        _ => None,
    }
}
