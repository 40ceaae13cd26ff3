//! What a rule found wrong with an object.
//!
//! The wording is the API server's: each [`Reason`] has its constructor on [`Findings`], and the
//! constructor chooses the words, so that a message reads the same wherever it is created.

use std::{borrow::Cow, fmt};

use super::{
    field::{Field, Path},
    rule::Meta,
    value::Value,
};

/// Why a field was refused, spelled as in `status.details.causes[].reason`.
///
/// Kubernetes: `field.ErrorType` in apimachinery `pkg/util/validation/field/errors.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The value occurs more than once.
    Duplicate,
    /// The value is valid but not allowed here.
    Forbidden,
    /// Something failed unexpectedly.
    InternalError,
    /// The value is invalid.
    Invalid,
    /// The value names something that does not exist.
    NotFound,
    /// The value is not one of the allowed values.
    NotSupported,
    /// A value is missing.
    Required,
    /// There are too few items.
    TooFew,
    /// The value is too long.
    TooLong,
    /// There are too many items.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
}

impl Reason {
    /// The word in a cause.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Duplicate => "FieldValueDuplicate",
            Reason::Forbidden => "FieldValueForbidden",
            Reason::InternalError => "InternalError",
            Reason::Invalid => "FieldValueInvalid",
            Reason::NotFound => "FieldValueNotFound",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Required => "FieldValueRequired",
            Reason::TooFew => "FieldValueTooFew",
            Reason::TooLong => "FieldValueTooLong",
            Reason::TooMany => "FieldValueTooMany",
            Reason::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

/// One fault, in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Meta,
    /// The field.
    pub field: Field,
    /// The kind of fault, in one word of the API server's vocabulary.
    pub reason: Reason,
    /// What is wrong: lower case, no full stop (or the API server's own text).
    pub message: String,
    /// What to write instead, if the message does not contain it.
    pub help: Option<Cow<'static, str>>,
}

impl Finding {
    /// Message and help in one line, as in a cause, a warning and `check --format json`.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message).into(),
            None => self.message.as_str().into(),
        }
    }
}

/// The list to which rules add what they find. Nothing stops at the first finding.
#[derive(Debug)]
pub struct Findings {
    rule: &'static Meta,
    list: Vec<Finding>,
}

impl Findings {
    /// An empty list of findings by this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        Findings { rule, list: Vec::new() }
    }

    /// From here on, findings are by this rule.
    pub const fn set_rule(&mut self, rule: &'static Meta) {
        self.rule = rule;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, in the order of discovery.
    pub fn into_vec(self) -> Vec<Finding> {
        self.list
    }

    /// Removes and returns those from an index on.
    pub fn split_off(&mut self, at: usize) -> Vec<Finding> {
        self.list.split_off(at)
    }

    /// Adds a finding in a rule's own words.
    ///
    /// `message` is what will happen, `help` what to write instead; both lower case, no full stop.
    pub fn report(
        &mut self,
        path: &Path<'_>,
        reason: Reason,
        message: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) {
        let rule = self.rule;
        self.list.push(Finding {
            rule,
            field: path.to_field(),
            reason,
            message: message.into(),
            help: Some(help.into()),
        });
    }

    /// `Required value` (`field.Required`).
    pub fn required(&mut self, path: &Path<'_>, detail: impl fmt::Display) {
        self.push(path, Reason::Required, format_args!("Required value"), detail);
    }

    /// `Forbidden` (`field.Forbidden`).
    pub fn forbidden(&mut self, path: &Path<'_>, detail: impl fmt::Display) {
        self.push(path, Reason::Forbidden, format_args!("Forbidden"), detail);
    }

    /// `Invalid value: …` (`field.Invalid`).
    pub fn invalid<'v>(
        &mut self,
        path: &Path<'_>,
        value: impl Into<Value<'v>>,
        detail: impl fmt::Display,
    ) {
        let value = value.into();
        self.push(path, Reason::Invalid, format_args!("Invalid value: {value}"), detail);
    }

    /// `Duplicate value: …` (`field.Duplicate`).
    pub fn duplicate<'v>(&mut self, path: &Path<'_>, value: impl Into<Value<'v>>) {
        let value = value.into();
        self.push(path, Reason::Duplicate, format_args!("Duplicate value: {value}"), "");
    }

    /// `Not found: …` (`field.NotFound`).
    pub fn not_found<'v>(&mut self, path: &Path<'_>, value: impl Into<Value<'v>>) {
        let value = value.into();
        self.push(path, Reason::NotFound, format_args!("Not found: {value}"), "");
    }

    /// `Not found: …`, and where it was searched for (`field.NotFound` with a detail).
    pub fn not_found_because<'v>(
        &mut self,
        path: &Path<'_>,
        value: impl Into<Value<'v>>,
        detail: impl fmt::Display,
    ) {
        let value = value.into();
        self.push(path, Reason::NotFound, format_args!("Not found: {value}"), detail);
    }

    /// `Too many: N: must have at most M items` (`field.TooMany`).
    pub fn too_many(&mut self, path: &Path<'_>, count: usize, max: usize) {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        self.push(path, Reason::TooMany, format_args!("Too many: {count}"), detail);
    }

    /// `Unsupported value: …: supported values: "A", "B"`, in the order given
    /// (`field.NotSupported`).
    pub fn not_supported<'v>(
        &mut self,
        path: &Path<'_>,
        value: impl Into<Value<'v>>,
        supported: &[&str],
    ) {
        let value = value.into();
        let mut detail = String::new();
        for (i, choice) in supported.iter().enumerate() {
            detail.push_str(if i == 0 { "supported values: " } else { ", " });
            detail.push_str(&Value::Str(choice).to_string());
        }
        self.push(path, Reason::NotSupported, format_args!("Unsupported value: {value}"), detail);
    }

    /// `Too long: may not be more than N bytes`; the value is not echoed (`field.TooLong`).
    pub fn too_long(&mut self, path: &Path<'_>, max: usize) {
        let detail = format!("may not be more than {max} bytes");
        self.push(path, Reason::TooLong, format_args!("Too long"), detail);
    }

    fn push(
        &mut self,
        path: &Path<'_>,
        reason: Reason,
        body: fmt::Arguments<'_>,
        detail: impl fmt::Display,
    ) {
        let mut message = body.to_string();
        let detail = detail.to_string();
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(&detail);
        }
        let rule = self.rule;
        self.list.push(Finding { rule, field: path.to_field(), reason, message, help: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_choose_the_words() {
        let mut found = Findings::of(&super::super::rule::TEST_RULE);
        let spec = Path::new("spec");
        found.required(&spec.child("selector"), "");
        found.invalid(&spec.child("replicas"), -1, "must be greater than or equal to 0");
        found.not_supported(&spec.child("policy"), "x\n", &["A", "B"]);
        found.invalid(&spec.child("type"), Value::json(&serde_json::json!({"a": "<"})), "no");
        let texts: Vec<_> = found.into_vec().iter().map(|f| f.message.clone()).collect();
        assert_eq!(
            texts,
            [
                "Required value",
                "Invalid value: -1: must be greater than or equal to 0",
                "Unsupported value: \"x\\n\": supported values: \"A\", \"B\"",
                "Invalid value: {\"a\":\"\\u003c\"}: no",
            ]
        );
    }

    #[test]
    fn quotes_as_go_does() {
        let quoted = |text| Value::Str(text).to_string();
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("\x07\x00\x7f"), r#""\a\x00\x7f""#);
        assert_eq!(quoted("é\u{a0}\u{85}"), "\"é\\u00a0\\u0085\"");
    }
}
