//! The API server's words, where an older release has others for the same error.

use crate::kubernetes::{cluster::Cluster, version::Version};

macro_rules! label_value {
    () => {
        ";a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
         '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
         'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    };
}

/// Words that a release replaced: the first release with the new ones, the new ones, the old ones.
struct Change {
    since: u32,
    new: &'static str,
    old: &'static str,
}

const CHANGES: &[Change] = &[
    Change {
        since: 35,
        new: ": must be no more than 63 bytes",
        old: ": must be no more than 63 characters",
    },
    Change {
        since: 35,
        new: ": name part must be no more than 63 bytes",
        old: ": name part must be no more than 63 characters",
    },
    Change {
        since: 35,
        new: ": prefix part must be no more than 253 bytes",
        old: ": prefix part must be no more than 253 characters",
    },
    // Tolerations join both messages of a label's value.
    Change {
        since: 35,
        new: concat!(": must be no more than 63 bytes", label_value!()),
        old: concat!(": must be no more than 63 characters", label_value!()),
    },
    Change { since: 35, new: LABEL_KEY, old: QUALIFIED_NAME },
    Change {
        since: 36,
        new: ": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        old: ": must be 'NotRequired' when `restartPolicy` is 'Never'",
    },
];

const LABEL_KEY: &str = ": a valid label key must consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const QUALIFIED_NAME: &str = ": a qualified name must consist of alphanumeric characters, '-', '_' \
     or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
     or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

/// Turns a message in the newest words into one in those of the cluster's release.
///
/// A message ends with its words; a value that a user wrote stands before them.
pub(super) fn of_release(message: &mut String, cluster: &Cluster) {
    for change in CHANGES {
        if !cluster.has(Version::of_minor(change.since)) && message.ends_with(change.new) {
            message.truncate(message.len() - change.new.len());
            message.push_str(change.old);
        }
    }
}
