//! Numbers that Go's templates print in floating-point form.

use crate::inventory::prelude::*;

/// The maximum number that is kept of a ConfigMap.
const MOST: usize = 10;

/// The names of files where a number is a word of its own. YAML, TOML and JSON have such numbers themselves.
const FILES: [&str; 5] = [".cfg", ".conf", ".env", ".ini", ".properties"];

/// Returns an integer of at least a million that is written as `1.048576e+06`. Templates read the numbers of a YAML
/// file as floating-point numbers.
pub(crate) fn number(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+');
    text.split(|c: char| !is_part(c)).find(|word| is_number(word))
}

fn is_number(word: &str) -> bool {
    let Some((mantissa, exponent)) = word.split_once("e+") else { return false };
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    let is_integer = |exponent: usize| (6..=20).contains(&exponent) && rest.len() <= exponent;
    first.len() == 1
        && are_digits(first)
        && are_digits(rest)
        && exponent.len() == 2
        && exponent.parse().is_ok_and(is_integer)
}

/// Returns such values in the files of a ConfigMap, each with its key: `size=1e+06` and `size 1e+06`.
pub(super) fn of_config_map(data: &BTreeMap<String, String>) -> Box<[(Box<str>, Box<str>)]> {
    let files = data.iter().filter(|(key, _)| FILES.iter().any(|it| key.ends_with(it)));
    let found = files.flat_map(|(key, text)| {
        let values = text.lines().filter(|it| !it.trim_start().starts_with(['#', ';']));
        let values = values.filter_map(|it| it.trim_end().rsplit(['=', ' ', '\t']).next());
        values.filter(|it| is_number(it)).map(|it| (key.as_str().into(), it.into()))
    });
    found.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_integers_are_found() {
        for text in ["1e+06", "--size=1.073741824e+09", "a=1.048576e+06 b", "1e+06;"] {
            assert!(number(text).is_some(), "{text}");
        }
        for text in
            ["1e6", "1.5e+00", "1e+05", "1.0485761e+06", "v1e+06", "1e+30", "1e+06.5", "e+06"]
        {
            assert!(number(text).is_none(), "{text}");
        }
    }
}
