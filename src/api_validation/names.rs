//! What a name, a key or a value of a label, a path or an address may look like.
//!
//! Each check returns the API server's texts, none when the value is good; an empty `Vec` does not
//! allocate. The matchers are hand-written: `$` of the upstream expressions is the end of the text,
//! a trailing newline never passes.
//!
//! Kubernetes: `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go` and
//! `pkg/api/validate/content/` beside it. Note that the same limit is told in "characters" by the
//! one and in "bytes" by the other; both count bytes.

use std::net::{IpAddr, Ipv6Addr};

/// What is wrong with a value, in the API server's words.
pub type Messages = Vec<&'static str>;

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

const NO_MORE_THAN_15: &str = "must be no more than 15 characters";
const NO_MORE_THAN_63: &str = "must be no more than 63 characters";
const NO_MORE_THAN_253: &str = "must be no more than 253 characters";
/// A port number that is none.
pub const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";
/// A negative number where none may be.
pub const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// DNS-1123 label: `IsDNS1123Label`.
pub fn dns1123_label(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push(NO_MORE_THAN_63);
    }
    if !is_label(value) {
        wrong.push(if is_subdomain(value) {
            "must not contain dots"
        } else {
            concat!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
                 '123-abc', regex used for validation is '",
                label_fmt!(),
                "')"
            )
        });
    }
    wrong
}

/// DNS-1123 subdomain: `IsDNS1123Subdomain`.
pub fn dns1123_subdomain(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 253 {
        wrong.push(NO_MORE_THAN_253);
    }
    if !is_subdomain(value) {
        wrong.push(subdomain_text!());
    }
    wrong
}

/// DNS-1123 subdomain that may hold underscores: `IsDNS1123SubdomainWithUnderscore`.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 253 {
        wrong.push(NO_MORE_THAN_253);
    }
    let part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        framed(part, lower_alnum, |b| lower_alnum(b) || b == b'-' || b == b'_')
    };
    if !value.split('.').all(part) {
        wrong.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '_', '-' or '.', and must start and end with an alphanumeric character (e.g. \
             'example.com', regex used for validation is \
             '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
        );
    }
    wrong
}

/// DNS-1035 label: `IsDNS1035Label`.
pub fn dns1035_label(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push(NO_MORE_THAN_63);
    }
    if !(is_label(value) && value.starts_with(|c: char| c.is_ascii_lowercase())) {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character (e.g. \
             'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    wrong
}

/// Key of a label, also called a qualified name: `IsLabelKey`, `IsQualifiedName`.
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
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty");
            } else {
                if prefix.len() > 253 {
                    wrong.push("prefix part must be no more than 253 bytes");
                }
                if !is_subdomain(prefix) {
                    wrong.push(concat!("prefix part ", subdomain_text!()));
                }
            }
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty");
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes");
    }
    if !is_label_text(name) {
        wrong.push(concat!("name part ", key_text!()));
    }
    wrong
}

/// Value of a label: `IsLabelValue`.
pub fn label_value(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push("must be no more than 63 bytes");
    }
    if !(value.is_empty() || is_label_text(value)) {
        wrong.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  \
             or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        );
    }
    wrong
}

/// Whether a label could have this value.
pub fn is_label_value(value: &str) -> bool {
    value.len() <= 63 && (value.is_empty() || is_label_text(value))
}

/// A name as a segment of a URL: `IsPathSegmentName`.
pub fn path_segment(value: &str) -> Messages {
    match value {
        "." => return vec!["may not be '.'"],
        ".." => return vec!["may not be '..'"],
        _ => {}
    }
    let mut wrong = Vec::new();
    if value.contains('/') {
        wrong.push("may not contain '/'");
    }
    if value.contains('%') {
        wrong.push("may not contain '%'");
    }
    wrong
}

/// `5%`: `IsValidPercent`.
pub fn percent(value: &str) -> Messages {
    unless(
        is_percent(value),
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
         or '93%', regex used for validation is '[0-9]+%')",
    )
}

/// Whether this is digits and a percent sign.
pub fn is_percent(value: &str) -> bool {
    value.strip_suffix('%').is_some_and(|digits| all(digits, |b| b.is_ascii_digit()))
}

/// Port number: `IsValidPortNum`.
pub fn port_number(value: i32) -> Messages {
    unless((1..=65535).contains(&value), PORT_RANGE)
}

/// Name of a port (an IANA service name): `IsValidPortName`.
pub fn port_name(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 15 {
        wrong.push(NO_MORE_THAN_15);
    }
    if !all(value, |b| lower_alnum(b) || b == b'-') {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !value.bytes().any(|b| b.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if value.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if value.starts_with('-') || value.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
}

/// Identifier of the language C: `IsCIdentifier`.
pub fn c_identifier(value: &str) -> Messages {
    unless(
        !value.starts_with(|c: char| c.is_ascii_digit())
            && all(value, |b| b.is_ascii_alphanumeric() || b == b'_'),
        "a valid C identifier must start with alphabetic character or '_', followed by a string \
         of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex \
         used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    )
}

/// Name of an environment variable, the strict way: `IsEnvVarName`.
pub fn env_var_name(value: &str) -> Messages {
    let mut wrong = unless(
        !value.starts_with(|c: char| c.is_ascii_digit()) && all(value, config_key_byte),
        "a valid environment variable name must consist of alphabetic characters, digits, '_', \
         '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  \
         or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')",
    );
    wrong.extend(dots(value));
    wrong
}

/// Name of an environment variable, the relaxed way: `IsRelaxedEnvVarName`.
pub fn relaxed_env_var_name(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.is_empty() {
        wrong.push("environment variable name must be non-empty");
    }
    if !value.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        wrong.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='",
        );
    }
    wrong
}

/// Key of a ConfigMap or Secret: `IsConfigMapKey`.
pub fn config_map_key(value: &str) -> Messages {
    let mut wrong = Vec::new();
    if value.len() > 253 {
        wrong.push(NO_MORE_THAN_253);
    }
    if !all(value, config_key_byte) {
        wrong.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
             'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
             '[-._a-zA-Z0-9]+')",
        );
    }
    wrong.extend(dots(value));
    wrong
}

/// Name of an HTTP header: `IsHTTPHeaderName`.
pub fn http_header_name(value: &str) -> Messages {
    unless(
        all(value, |b| b.is_ascii_alphanumeric() || b == b'-'),
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
         'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    )
}

/// Whether all characters may stand in the path of a URL: `httpPathRegexp`.
pub fn is_http_path(value: &str) -> bool {
    all(value, |b| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b))
}

/// A whole number as a person writes it: `IsDecimalInteger`.
pub fn decimal_integer(value: &str) -> Messages {
    if value.is_empty() {
        return vec!["must be non-empty"];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical =
        value == "0" || (!digits.starts_with('0') && all(digits, |b| b.is_ascii_digit()));
    unless(canonical, "must be a valid decimal integer in canonical form")
}

/// User or group id: `IsValidUserID`, `IsValidGroupID`.
pub fn unix_id(value: i64) -> Messages {
    unless(
        (0..=i64::from(i32::MAX)).contains(&value),
        "must be between 0 and 2147483647, inclusive",
    )
}

/// A path without `..` steps: `validatePathNoBacksteps` in `pkg/apis/core/validation`.
pub fn no_backsteps(value: &str) -> Messages {
    unless(value.split('/').all(|step| step != ".."), "must not contain '..'")
}

/// A relative path without `..` steps: `validateLocalDescendingPath` in `pkg/apis/core/validation`.
pub fn local_descending_path(value: &str) -> Messages {
    let mut wrong = unless(!value.starts_with('/'), "must be a relative path");
    wrong.extend(no_backsteps(value));
    wrong
}

/// An IP address in a field that is older than the strict rules: `IsValidIPForLegacyField`
/// (`util/validation/ip.go`); strict by the gate `StrictIPCIDRValidation`.
pub fn ip(value: &str, strict: bool) -> Messages {
    let mut wrong = Vec::new();
    let parsed = value.parse::<IpAddr>().ok();
    if parsed.is_none() && without_leading_zeros(value).parse::<IpAddr>().is_err() {
        wrong.push("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    } else if strict {
        match parsed {
            None => wrong.push("must not have leading 0s"),
            Some(IpAddr::V6(v6)) if is_v4_in_v6(&v6) => {
                wrong.push("must not be an IPv4-mapped IPv6 address");
            }
            Some(_) => {}
        }
    }
    wrong
}

fn is_v4_in_v6(address: &Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_some()
}

/// Upstream's old parser ignored them.
fn without_leading_zeros(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        if end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let group = rest[..end].trim_start_matches('0');
            out.push_str(if group.is_empty() { "0" } else { group });
            rest = &rest[end..];
        }
    }
    out
}

/// `hasChDirPrefix`.
fn dots(value: &str) -> Option<&'static str> {
    match value {
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        _ if value.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    }
}

fn unless(good: bool, message: &'static str) -> Messages {
    if good { Vec::new() } else { vec![message] }
}

const fn lower_alnum(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

const fn config_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// One byte or more, all of one class.
fn all(value: &str, class: impl Fn(u8) -> bool) -> bool {
    !value.is_empty() && value.bytes().all(class)
}

/// First and last byte of one class, all between of another.
fn framed(value: &str, ends: impl Fn(u8) -> bool, inside: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => ends(*only),
        [first, middle @ .., last] => {
            ends(*first) && ends(*last) && middle.iter().copied().all(inside)
        }
    }
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
    use super::*;

    type Check = fn(&str) -> Messages;

    /// Good values pass; the bad ones do not, nor does any good one with a newline behind it.
    fn borders(check: Check, good: &[&str], bad: &[&str]) {
        for value in good {
            assert_eq!(check(value), Messages::new(), "{value:?}");
            assert_ne!(check(&format!("{value}\n")), Messages::new(), "{value:?} and a newline");
        }
        for value in bad {
            assert_ne!(check(value), Messages::new(), "{value:?}");
        }
    }

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
        borders(dns1035_label, &["a", "a-1", &a63], &["1a", "", "a.b", "A", &a64]);
    }

    #[test]
    fn a_label_with_dots_is_told_so() {
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

    #[test]
    fn percents_and_integers() {
        borders(percent, &["0%", "007%", "100%"], &["", "%", "5", "-1%", "1.5%", "５%", " 1%"]);
        let good = ["0", "-1", "12", "9223372036854775808"];
        borders(decimal_integer, &good, &["", "-", "-0", "01", "+1", "1.0", "１"]);
        assert!(port_number(1).is_empty() && port_number(65535).is_empty());
        assert!(!port_number(0).is_empty() && !port_number(65536).is_empty());
        assert!(unix_id(0).is_empty() && unix_id(2_147_483_647).is_empty());
        assert!(!unix_id(-1).is_empty() && !unix_id(2_147_483_648).is_empty());
    }

    #[test]
    fn names_of_ports() {
        let bad = ["", "80", "-a", "a-", "a--b", "A", "a_b", "aaaaaaaaaaaaaaaa", "é"];
        borders(port_name, &["a", "8080-a", "aaaaaaaaaaaaaaa"], &bad);
        assert_eq!(port_name("").len(), 2);
    }

    #[test]
    fn identifiers_and_keys() {
        borders(c_identifier, &["a", "_", "A1_"], &["", "1a", "a-b", "é"]);
        borders(env_var_name, &["a", ".a", "A-b.c_1"], &["", "1a", ".", "..", "..a", "a b", "é"]);
        borders(relaxed_env_var_name, &["1a", "a b", ".."], &["", "a=b", "é", "\u{7f}"]);
        let (a253, a254) = ("a".repeat(253), "a".repeat(254));
        let bad = ["", ".", "..", "..a", "a/b", "é", &a254];
        borders(config_map_key, &["a", ".a", "A_b-c.d", &a253], &bad);
        borders(http_header_name, &["X-Header"], &["", "a_b", "é", "a b"]);
        assert!(is_http_path("/a/b%20c?".trim_end_matches('?')));
        assert!(!is_http_path("/a?b") && !is_http_path("") && !is_http_path("/a\n"));
    }

    #[test]
    fn paths() {
        assert_eq!(path_segment("."), ["may not be '.'"]);
        assert_eq!(path_segment("a/%"), ["may not contain '/'", "may not contain '%'"]);
        assert!(path_segment("...").is_empty() && path_segment("").is_empty());
        assert!(no_backsteps("/a/..b/c").is_empty() && !no_backsteps("a/../b").is_empty());
        assert_eq!(
            local_descending_path("/a/.."),
            ["must be a relative path", "must not contain '..'"]
        );
    }

    #[test]
    fn addresses() {
        for good in ["1.2.3.4", "::", "::1", "2001:db8::ffff", "1:2:3:4:5:6:7:8", "::1.2.3.4"] {
            assert!(ip(good, true).is_empty(), "{good}");
        }
        for bad in ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "a", "1:2", "::1%eth0", "1.2.3.4\n", "é"]
        {
            assert!(!ip(bad, false).is_empty(), "{bad:?}");
        }
        for sloppy in ["010.002.003.004", "::ffff:1.2.3.4", "::00001"] {
            assert!(ip(sloppy, false).is_empty() && !ip(sloppy, true).is_empty(), "{sloppy}");
        }
    }
}
