/// The problems of a value, in the API server's own messages.
pub type Messages = Vec<&'static str>;

pub(super) const NO_MORE_THAN_253: &str = "must be no more than 253 characters";

/// Returns the messages whose fault is there.
pub(super) fn errors<const N: usize>(faults: [(bool, &'static str); N]) -> Messages {
    faults.into_iter().filter_map(|(is_there, message)| is_there.then_some(message)).collect()
}

pub(super) fn error_unless(good: bool, message: &'static str) -> Messages {
    if good { Vec::new() } else { vec![message] }
}

pub(super) const fn lower_alnum(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

pub(super) const fn config_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

pub(super) fn all(value: &str, class: impl Fn(u8) -> bool) -> bool {
    !value.is_empty() && value.bytes().all(class)
}

pub(super) fn framed(value: &str, ends: impl Fn(u8) -> bool, inside: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => ends(*only),
        [first, middle @ .., last] => {
            ends(*first) && ends(*last) && middle.iter().copied().all(inside)
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Messages;

    type Check = fn(&str) -> Messages;

    /// A trailing newline must make every good value fail.
    pub(crate) fn borders(check: Check, good: &[&str], bad: &[&str]) {
        for value in good {
            assert_eq!(check(value), Messages::new(), "{value:?}");
            assert_ne!(check(&format!("{value}\n")), Messages::new(), "{value:?} and a newline");
        }
        for value in bad {
            assert_ne!(check(value), Messages::new(), "{value:?}");
        }
    }
}
