//! The wording of older releases, where it differs from the newest release's.

use crate::kubernetes::version::Version;
use crate::rules::prelude::*;

macro_rules! label_value {
    () => {
        ";a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
         '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
         'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    };
}

struct Change {
    since: u32,
    /// Empty, unless other fields have the new wording in older releases too.
    field: &'static str,
    new: &'static str,
    old: &'static str,
}

const fn everywhere(since: u32, new: &'static str, old: &'static str) -> Change {
    Change { since, field: "", new, old }
}

const fn at(field: &'static str, since: u32, new: &'static str, old: &'static str) -> Change {
    Change { since, field, new, old }
}

const CHANGES: &[Change] = &[
    everywhere(34, ": when `hostUsers` is false", ": when `pod.Spec.HostUsers` is false"),
    // The regular expression in 1.33 is wrong.
    everywhere(
        34,
        "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    at("metadata.ownerReferences.kind", 34, EMPTY, ": kind must not be empty"),
    at("metadata.ownerReferences.name", 34, EMPTY, ": name must not be empty"),
    at("metadata.ownerReferences.uid", 34, EMPTY, ": uid must not be empty"),
    at("spec.template.spec.os.name", 34, "Required value", "Required value: cannot be empty"),
    everywhere(35, ": must be no more than 63 bytes", ": must be no more than 63 characters"),
    everywhere(
        35,
        ": name part must be no more than 63 bytes",
        ": name part must be no more than 63 characters",
    ),
    everywhere(
        35,
        ": prefix part must be no more than 253 bytes",
        ": prefix part must be no more than 253 characters",
    ),
    // Tolerations join both messages about a label's value.
    everywhere(
        35,
        concat!(": must be no more than 63 bytes", label_value!()),
        concat!(": must be no more than 63 characters", label_value!()),
    ),
    everywhere(
        35,
        " is invalid, must be no more than 63 bytes",
        " is invalid, must be no more than 63 characters",
    ),
    everywhere(35, LABEL_KEY, QUALIFIED_NAME),
    everywhere(
        36,
        ": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ": must be 'NotRequired' when `restartPolicy` is 'Never'",
    ),
];

const EMPTY: &str = ": must not be empty";
const LABEL_KEY: &str = ": a valid label key must consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const QUALIFIED_NAME: &str = ": a qualified name must consist of alphanumeric characters, '-', '_' \
     or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
     or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

/// Replaces the newest wording, at the end of a message; a value that a user wrote may precede it.
pub(in crate::rules) fn of_release(finding: &mut Finding, cluster: &Cluster) {
    for change in CHANGES {
        if !cluster.has(Version::of_minor(change.since))
            && finding.message.ends_with(change.new)
            && (change.field.is_empty() || finding.field.to_string() == change.field)
        {
            finding.message.truncate(finding.message.len() - change.new.len());
            finding.message.push_str(change.old);
        }
    }
}
