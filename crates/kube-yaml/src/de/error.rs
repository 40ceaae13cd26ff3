//! The errors of a type's own code.

use std::fmt;

use serde::de;

use crate::nearest_of;

#[derive(Debug)]
pub(super) enum Error {
    /// The problem is recorded; the tree must be read again.
    Again,
    Missing(&'static str),
    /// In the type's own words.
    Other(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Again => f.write_str("could not be read"),
            Error::Missing(name) => write!(f, "{name} is missing"),
            Error::Other(message) => f.write_str(message),
        }
    }
}
impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::Other(message.to_string())
    }
    fn missing_field(field: &'static str) -> Self {
        Error::Missing(field)
    }
    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        use de::Unexpected as U;
        let got = match unexpected {
            U::Bool(_) => "true or false",
            U::Unsigned(_) | U::Signed(_) => "a whole number",
            U::Float(_) => "a number with a fraction",
            U::Char(_) | U::Str(_) => "text",
            U::Unit | U::Option => "nothing",
            U::Seq => "a list",
            _ => "a mapping",
        };
        Error::Other(format!("expected {}, got {got}", in_words(&expected.to_string())))
    }
    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Error::Other(format!("{unexpected} is not {}", in_words(&expected.to_string())))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let near = nearest_of(variant, expected.iter().copied());
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Error::Other(format!("{variant:?} is not one of {}{near}", expected.join(", ")))
    }
}

/// Rewords `expecting` texts of other crates for people who write YAML.
fn in_words(expected: &str) -> &str {
    match expected {
        "IntOrString" => "a whole number or text",
        other => other,
    }
}
