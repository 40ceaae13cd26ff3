use super::text::{
    Messages, NO_MORE_THAN_253, all, config_key_byte, error_unless, errors, lower_alnum,
};

/// The message for a port number that is out of range.
pub const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// Checks a prefix of a name that becomes a URL path segment: `IsPathSegmentPrefix`.
pub fn path_segment_prefix(value: &str) -> Messages {
    let has = |c| value.contains(c);
    errors([(has('/'), "may not contain '/'"), (has('%'), "may not contain '%'")])
}

/// Checks a percentage such as `5%`: `IsValidPercent`.
pub fn percent(value: &str) -> Messages {
    error_unless(
        is_percent(value),
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
         or '93%', regex used for validation is '[0-9]+%')",
    )
}

/// Returns whether the text is digits and a percent sign.
pub fn is_percent(value: &str) -> bool {
    value.strip_suffix('%').is_some_and(|digits| all(digits, |b| b.is_ascii_digit()))
}

/// Checks a port number: `IsValidPortNum`.
pub fn port_number(value: i32) -> Messages {
    error_unless((1..=65535).contains(&value), PORT_RANGE)
}

/// Checks the name of a port (an IANA service name): `IsValidPortName`.
pub fn port_name(value: &str) -> Messages {
    let has_others = !all(value, |b| lower_alnum(b) || b == b'-');
    let has_letter = value.bytes().any(|b| b.is_ascii_lowercase());
    let is_framed = value.starts_with('-') || value.ends_with('-');
    errors([
        (value.len() > 15, "must be no more than 15 characters"),
        (has_others, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (!has_letter, "must contain at least one letter (a-z)"),
        (value.contains("--"), "must not contain consecutive hyphens"),
        (is_framed, "must not begin or end with a hyphen"),
    ])
}

/// Checks the name of an environment variable by the strict rule: `IsEnvVarName`.
pub fn env_var_name(value: &str) -> Messages {
    let mut wrong = error_unless(
        !value.starts_with(|c: char| c.is_ascii_digit()) && all(value, config_key_byte),
        "a valid environment variable name must consist of alphabetic characters, digits, '_', \
         '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  \
         or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')",
    );
    wrong.extend(dots(value));
    wrong
}

/// Checks the name of an environment variable by the relaxed rule: `IsRelaxedEnvVarName`.
pub fn relaxed_env_var_name(value: &str) -> Messages {
    let of_form = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let has_form = value.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=');
    errors([
        (value.is_empty(), "environment variable name must be non-empty"),
        (!has_form, of_form),
    ])
}

/// Checks the key of a ConfigMap or Secret: `IsConfigMapKey`.
pub fn config_map_key(value: &str) -> Messages {
    let of_form = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                   'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    let is_too_long = value.len() > 253;
    let mut wrong =
        errors([(is_too_long, NO_MORE_THAN_253), (!all(value, config_key_byte), of_form)]);
    wrong.extend(dots(value));
    wrong
}

/// Checks the name of an HTTP header: `IsHTTPHeaderName`.
pub fn http_header_name(value: &str) -> Messages {
    error_unless(
        all(value, |b| b.is_ascii_alphanumeric() || b == b'-'),
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
         'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    )
}

/// Checks a whole number in canonical decimal form: `IsDecimalInteger`.
pub fn decimal_integer(value: &str) -> Messages {
    if value.is_empty() {
        return vec!["must be non-empty"];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical =
        value == "0" || (!digits.starts_with('0') && all(digits, |b| b.is_ascii_digit()));
    error_unless(canonical, "must be a valid decimal integer in canonical form")
}

/// Checks a user or group id: `IsValidUserID`, `IsValidGroupID`.
pub fn unix_id(value: i64) -> Messages {
    error_unless(
        (0..=i64::from(i32::MAX)).contains(&value),
        "must be between 0 and 2147483647, inclusive",
    )
}

/// Checks a path without `..` steps: `validatePathNoBacksteps` in `pkg/apis/core/validation`.
pub fn no_backsteps(value: &str) -> Messages {
    error_unless(value.split('/').all(|step| step != ".."), "must not contain '..'")
}

/// Checks a relative path without `..` steps: `validateLocalDescendingPath` in `pkg/apis/core/validation`.
pub fn local_descending_path(value: &str) -> Messages {
    let mut wrong = error_unless(!value.starts_with('/'), "must be a relative path");
    wrong.extend(no_backsteps(value));
    wrong
}

/// `hasChDirPrefix`
fn dots(value: &str) -> Option<&'static str> {
    match value {
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        _ if value.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::names::text::testing::borders;

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
    fn variables_and_keys() {
        borders(env_var_name, &["a", ".a", "A-b.c_1"], &["", "1a", ".", "..", "..a", "a b", "é"]);
        borders(relaxed_env_var_name, &["1a", "a b", ".."], &["", "a=b", "é", "\u{7f}"]);
        let (a253, a254) = ("a".repeat(253), "a".repeat(254));
        let bad = ["", ".", "..", "..a", "a/b", "é", &a254];
        borders(config_map_key, &["a", ".a", "A_b-c.d", &a253], &bad);
        borders(http_header_name, &["X-Header"], &["", "a_b", "é", "a b"]);
    }

    #[test]
    fn paths() {
        let both = ["may not contain '/'", "may not contain '%'"];
        assert_eq!(path_segment_prefix("a/%"), both);
        assert!(path_segment_prefix("...").is_empty() && path_segment_prefix("").is_empty());
        assert!(no_backsteps("/a/..b/c").is_empty() && !no_backsteps("a/../b").is_empty());
        assert_eq!(
            local_descending_path("/a/.."),
            ["must be a relative path", "must not contain '..'"]
        );
    }
}
