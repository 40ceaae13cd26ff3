//! Checks of names, label keys, label values, paths and addresses.
//!
//! Each check returns the API server's messages, or none if the value is valid. In the API server's expressions `$` is
//! the end of the text, so a trailing newline never passes.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go` and `pkg/api/validate/content/` next
//! to it. One gives the limit in "characters", the other in "bytes"; both count bytes.

mod address;
mod other;
mod text;

use self::text::{NO_MORE_THAN_253, config_key_byte, errors, framed, lower_alnum};
pub use self::{
    address::{ip, ip_warning},
    other::*,
    text::Messages,
};

macro_rules! label_fmt {
    () => {
        "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    };
}
macro_rules! subdomain_text {
    () => {
        concat!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character (e.g. \
             'example.com', regex used for validation is '",
            label_fmt!(),
            "(\\.",
            label_fmt!(),
            ")*')"
        )
    };
}
macro_rules! key_text {
    () => {
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    };
}

const NO_MORE_THAN_63: &str = "must be no more than 63 characters";
/// The message for a negative number where none is allowed.
pub const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// As Go does, one character for each: `İ` becomes `i`.
pub(crate) fn lower_case(text: &str) -> String {
    text.chars().filter_map(|c| c.to_lowercase().next()).collect()
}

/// Checks a DNS-1123 label: `IsDNS1123Label`.
pub fn dns1123_label(value: &str) -> Messages {
    let of_form = if is_subdomain(value) {
        "must not contain dots"
    } else {
        concat!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
             '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
             '123-abc', regex used for validation is '",
            label_fmt!(),
            "')"
        )
    };
    errors([(value.len() > 63, NO_MORE_THAN_63), (!is_label(value), of_form)])
}

/// Checks a DNS-1123 subdomain: `IsDNS1123Subdomain`.
pub fn dns1123_subdomain(value: &str) -> Messages {
    let is_too_long = value.len() > 253;
    errors([(is_too_long, NO_MORE_THAN_253), (!is_subdomain(value), subdomain_text!())])
}

/// Checks a DNS-1123 subdomain that may contain underscores: `IsDNS1123SubdomainWithUnderscore`.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Messages {
    let part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        framed(part, lower_alnum, |b| lower_alnum(b) || b == b'-' || b == b'_')
    };
    let of_form = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or \
                   '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                   validation is \
                   '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
    errors([(value.len() > 253, NO_MORE_THAN_253), (!value.split('.').all(part), of_form)])
}

/// Checks the key of a label, also called a qualified name: `IsLabelKey`, `IsQualifiedName`.
pub fn label_key(value: &str) -> Messages {
    let mut wrong = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            wrong.push(concat!(
                "a valid label key ",
                key_text!(),
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
            return wrong;
        }
        Some((prefix, name)) => {
            let of_form = concat!("prefix part ", subdomain_text!());
            wrong = errors([
                (prefix.is_empty(), "prefix part must be non-empty"),
                (prefix.len() > 253, "prefix part must be no more than 253 bytes"),
                (!prefix.is_empty() && !is_subdomain(prefix), of_form),
            ]);
            name
        }
    };
    wrong.extend(errors([
        (name.is_empty(), "name part must be non-empty"),
        (name.len() > 63, "name part must be no more than 63 bytes"),
        (!is_label_text(name), concat!("name part ", key_text!())),
    ]));
    wrong
}

/// Checks the value of a label: `IsLabelValue`.
pub fn label_value(value: &str) -> Messages {
    let of_form = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                   must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                   regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let has_form = value.is_empty() || is_label_text(value);
    errors([(value.len() > 63, "must be no more than 63 bytes"), (!has_form, of_form)])
}

/// Returns whether a label can have this value.
pub fn is_label_value(value: &str) -> bool {
    value.len() <= 63 && (value.is_empty() || is_label_text(value))
}

fn is_label(value: &str) -> bool {
    framed(value, lower_alnum, |b| lower_alnum(b) || b == b'-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_label_text(value: &str) -> bool {
    framed(value, |b| b.is_ascii_alphanumeric(), config_key_byte)
}

#[cfg(test)]
mod tests {
    use super::{text::testing::borders, *};

    #[test]
    fn labels_and_subdomains() {
        let (a63, a64) = ("a".repeat(63), "a".repeat(64));
        let (a253, a254) = ("a".repeat(253), "a".repeat(254));
        let bad = ["", "-", "a-", "-a", "A", "a_b", "é", "a b", "\n", " a"];
        borders(dns1123_label, &["a", "0", "a-b", "a--1", &a63], &bad);
        borders(dns1123_label, &[], &[&a64, "a.b", "a."]);
        borders(dns1123_subdomain, &["a", "a.b", "1.2-3.c", &a253], &bad);
        borders(dns1123_subdomain, &[], &[&a254, "a..b", ".a", "a.", "a.-b", "ä.b"]);
        let underscored = ["a", "_a._b", "a_b.c-d", "_0"];
        borders(dns1123_subdomain_with_underscore, &underscored, &["", "__a", "a_", "_", "a._"]);
    }

    #[test]
    fn a_label_with_dots_gets_its_own_message() {
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        let both = dns1123_label(&format!("{}.b", "a".repeat(63)));
        assert_eq!(both, ["must be no more than 63 characters", "must not contain dots"]);
    }

    #[test]
    fn keys_of_labels() {
        let (a63, a64) = ("a".repeat(63), "a".repeat(64));
        let long = format!("{}/{a63}", "p".repeat(253));
        let longer = format!("{}/n", "p".repeat(254));
        let good = ["a", "A.b_c-d", "0", "a.b/c", "a/B", &a63, &long];
        let bad = ["", "/", "/a", "a/", "a/b/c", "A.b/c", "a_", "-a", "é", "a/é", &a64, &longer];
        borders(label_key, &good, &bad);
        assert_eq!(label_key("").len(), 2);
        assert_eq!(label_key("/").len(), 3);
        assert_eq!(label_key("//").len(), 1);
        assert_eq!(label_key(&longer), ["prefix part must be no more than 253 bytes"]);
    }

    #[test]
    fn values_of_labels() {
        let (a63, a64, e32) = ("a".repeat(63), "a".repeat(64), "é".repeat(32));
        for good in ["", "a", "A", "0", "a_b.c-d", &a63] {
            assert!(label_value(good).is_empty() && is_label_value(good), "{good:?}");
        }
        for bad in [" ", "a ", "-a", "a-", "a/b", "\n", "a\n", &a64] {
            assert!(!label_value(bad).is_empty() && !is_label_value(bad), "{bad:?}");
        }
        assert_eq!(label_value(&e32).len(), 2, "64 bytes, 32 characters: bytes count");
    }
}
