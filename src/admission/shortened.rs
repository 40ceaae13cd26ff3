//! Leaves out the parts of a review that rules seldom read, more than half of the bytes that an API
//! server sends.
//!
//! serde_json looks at each byte of the values that it skips. This module searches only for quotes
//! and brackets, many bytes at a time, and leaves the rest to serde_json.

mod scan;

use self::scan::{container_len, string_len};
use crate::object::Unread;

/// A review without the parts that are seldom read, and these parts.
#[derive(Debug)]
pub(super) struct Shortened<'a> {
    /// The review, with `null` in place of these parts.
    pub(super) text: String,
    /// The JSON of the review's group, version and kind.
    pub(super) kind: &'a str,
    /// The parts of the object.
    pub(super) object: Parts<'a>,
    /// The parts of the old object.
    pub(super) old_object: Parts<'a>,
}

/// The parts that were left out of an object. A part that was not left out is absent here.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) managed_fields: Unread<'a>,
    /// The template. Only that of an old object was left out: the new template is always read.
    pub(super) template: Unread<'a>,
    pub(super) status: Unread<'a>,
}

impl<'a> Shortened<'a> {
    /// Shortens a review. `None` if the JSON is not as compact as API servers write it. The later
    /// reader checks whether the text is JSON at all, except in the fields of the envelope that are
    /// left out, which are never read.
    pub(super) fn of(review: &'a str) -> Option<Self> {
        let copy = String::with_capacity(review.len());
        let mut cursor = Cursor { text: review, at: 0, copied: 0, copy };
        let [mut object, mut old_object] = [Parts::default(), Parts::default()];
        let mut kind = None;
        cursor.members(|cursor, key| match key {
            "request" => cursor.members(|cursor, key| match key {
                "kind" => cursor.value().map(|json| kind = Some(json)),
                "resource" | "requestKind" | "requestResource" | "options" => {
                    cursor.leave_out(&mut Unread::default())
                }
                "object" => cursor.object(&mut object, false),
                "oldObject" => cursor.object(&mut old_object, true),
                _ => cursor.skip(),
            }),
            _ => cursor.skip(),
        })?;
        Some(Shortened { text: cursor.finish(), kind: kind?, object, old_object })
    }
}

/// A position in a text of which some parts are not copied.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The position up to which the text is copied.
    copied: usize,
    copy: String,
}

impl<'a> Cursor<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Iterates over the members of an object; any other value is skipped. `member` gets each key,
    /// and skips its value.
    fn members(&mut self, mut member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        if self.expect(b'{').is_none() {
            return self.skip();
        }
        if self.expect(b'}').is_some() {
            return Some(());
        }
        loop {
            let key = self.value()?.strip_prefix('"')?.strip_suffix('"')?;
            self.expect(b':')?;
            member(self, key)?;
            if self.expect(b',').is_none() {
                return self.expect(b'}');
            }
        }
    }

    /// Skips a value.
    fn skip(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += match rest.first()? {
            b'{' | b'[' => container_len(rest)?,
            b'"' => string_len(rest)?,
            _ => rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'))?,
        };
        Some(())
    }

    /// Skips a value, and returns its text.
    fn value(&mut self) -> Option<&'a str> {
        let from = self.at;
        self.skip()?;
        self.text.get(from..self.at)
    }

    /// Skips a value, and leaves it out if it is an object or a list.
    fn leave_out(&mut self, part: &mut Unread<'a>) -> Option<()> {
        let from = self.at;
        let value = self.value()?;
        if value.starts_with(['{', '[']) {
            *part = Unread::new(value);
            self.copy.push_str(self.text.get(self.copied..from)?);
            self.copy.push_str("null");
            self.copied = self.at;
        }
        Some(())
    }

    /// Skips an object of the review.
    fn object(&mut self, parts: &mut Parts<'a>, is_old: bool) -> Option<()> {
        self.members(|cursor, key| match key {
            "metadata" => cursor.members(|cursor, key| match key {
                "managedFields" => cursor.leave_out(&mut parts.managed_fields),
                _ => cursor.skip(),
            }),
            "spec" => cursor.members(|cursor, key| match key {
                "template" if is_old => cursor.leave_out(&mut parts.template),
                "template" => cursor.value().map(|json| parts.template = Unread::new(json)),
                _ => cursor.skip(),
            }),
            "status" => cursor.leave_out(&mut parts.status),
            _ => cursor.skip(),
        })
    }

    /// Returns the copy, with the rest of the text.
    fn finish(mut self) -> String {
        self.copy.push_str(self.text.get(self.copied..).unwrap_or_default());
        self.copy
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// JSON with sequences that are easily confused: brackets in strings, quotes, backslashes.
    fn any_json() -> impl Strategy<Value = Value> {
        let text = || r#"[{}\[\]"\\,:é a-c]{0,90}"#;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((text(), inner), 0..6)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    fn left_out(value: &Value) -> Option<String> {
        (value.is_object() || value.is_array()).then(|| value.to_string())
    }

    proptest! {
        #[test]
        fn only_parts_that_are_given_apart_are_left_out(
            values in prop::collection::vec(any_json(), 8)
        ) {
            let [managed, other, template, status, old_managed, old_template, old_status, options] =
                &values[..] else { unreachable!() };
            let object = |managed: &Value, template: &Value, status: &Value| json!({
                "kind": "DaemonSet",
                "metadata": {"labels": other, "managedFields": managed, "name": other},
                "spec": {"selector": other, "template": template, "updateStrategy": other},
                "status": status,
            });
            let mut review = json!({"kind": "AdmissionReview", "request": {
                "uid": other,
                "kind": {"group": "apps", "version": "v1", "kind": "DaemonSet"},
                "object": object(managed, template, status),
                "oldObject": object(old_managed, old_template, old_status),
                "options": options,
            }, "other": other});
            let text = review.to_string();

            let shortened = Shortened::of(&text).unwrap();

            let mut expected = |pointer, part: Unread<'_>| {
                let value = review.pointer_mut(pointer).unwrap();
                let json = left_out(value);
                if json.is_some() {
                    *value = Value::Null;
                }
                (json, part.json().map(str::to_owned))
            };
            let Shortened { kind, object, old_object, .. } = &shortened;
            for (expected, given) in [
                expected("/request/object/metadata/managedFields", object.managed_fields),
                expected("/request/object/status", object.status),
                expected("/request/oldObject/metadata/managedFields", old_object.managed_fields),
                expected("/request/oldObject/spec/template", old_object.template),
                expected("/request/oldObject/status", old_object.status),
            ] {
                prop_assert_eq!(given, expected);
            }
            expected("/request/options", Unread::default());
            prop_assert_eq!(*kind, review["request"]["kind"].to_string());
            prop_assert_eq!(object.template.json(), Some(&*template.to_string()));
            prop_assert_eq!(&shortened.text, &review.to_string());
        }

        #[test]
        fn a_container_ends_where_it_ends(value in any_json(), rest in r#"[{}\[\]"\\,]{0,99}"#) {
            let text = json!([value]).to_string();
            let longer = text.clone() + &rest;
            prop_assert_eq!(container_len(longer.as_bytes()), Some(text.len()));
            let half = &text.as_bytes()[..text.len() - 1];
            prop_assert_eq!(container_len(half), None);
        }
    }

    #[test]
    fn other_json_is_not_shortened() {
        for text in ["", "{", "{}", "null", "[1]", r#"{"request":{"kind":"#, r#"{"request" :{}}"#] {
            assert!(Shortened::of(text).is_none(), "{text}");
        }
    }
}
