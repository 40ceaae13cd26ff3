//! The conditions of policies, and the expressions that all kinds of policies share.

use jiff::civil::Date;
use setguard_core::{kubernetes::kind::Kind, policy::Exception, rules::rule::cel::MACROS};

use super::objects::{condition, list, quote};
use crate::cli::prelude::*;

pub(super) struct Exceptions {
    /// CEL that is true for exempt objects.
    covered: Option<String>,
    /// The day when the first exception ends.
    ends: Option<Date>,
}

impl Exceptions {
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

    pub(super) fn condition(&self) -> Option<Value> {
        self.covered.as_ref().map(|it| condition("no-exception", format!("!({it})")))
    }

    pub(super) fn remark(&self, id: &str) -> Option<String> {
        let remark =
            |day| format!("An exception from {id} ends on {day}: export again after that day.");
        self.ends.map(remark)
    }
}

fn covers(exception: &Exception) -> String {
    about(&exception.namespaces, &exception.names).unwrap_or_else(|| "true".to_owned())
}

/// CEL that is true for objects with one of these namespaces and names; `None` if all objects match.
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

/// CEL that is true for requests by these users or groups; `None` without users and groups.
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

pub(super) fn expand(expression: &str, object: &str) -> String {
    let mut text = expression.to_owned();
    for (name, meaning) in MACROS {
        text = text.replace(name, meaning);
    }
    text.replace('@', object)
}

pub(super) const fn resource(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::DaemonSet => Some("daemonsets"),
        Kind::StatefulSet => Some("statefulsets"),
        _ => None,
    }
}
