//! The fields that a change changes.

use serde_json::Value;

use crate::finding::shorten;

/// The longest value that is shown, in bytes.
const LONG: usize = 80;

/// A field that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The path, such as `spec.template.spec.containers[0].image`.
    pub(super) path: String,
    /// The old value; `None` if the field was absent.
    pub(super) old: Option<String>,
    /// The new value; `None` if the field is removed.
    pub(super) new: Option<String>,
}

/// Collects the fields in which two values differ, in the order of the new value.
pub(super) fn differences(old: &Value, new: &Value, path: &str, found: &mut Vec<Difference>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, new) in new {
                differences(old.get(key).unwrap_or(&Value::Null), new, &join(path, key), found);
            }
            for (key, old) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
                differences(old, &Value::Null, &join(path, key), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, &format!("{path}[{i}]"), found);
            }
        }
        _ if old == new || (is_empty(old) && is_empty(new)) => {}
        _ => found.push(Difference { path: path.to_owned(), old: text(old), new: text(new) }),
    }
}

/// Returns whether a value is an empty list or mapping, which means the same as no value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn join(path: &str, key: &str) -> String {
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric());
    match (path.is_empty(), is_plain) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{key}]"),
    }
}

fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(shorten(&text, LONG).replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_is_named_once() {
        let old = json!({"a": 1, "list": [{"image": "x:1"}], "gone": {"b": true}, "more": [1], "empty": {}});
        let new = json!({"a": 1, "list": [{"image": "x:2"}], "x/y": "z", "more": [1, 2]});
        let mut found = Vec::new();
        differences(&old, &new, "spec", &mut found);
        let all: Vec<_> = found
            .iter()
            .map(|it| format!("{}: {:?} {:?}", it.path, it.old.as_deref(), it.new.as_deref()))
            .collect();
        assert_eq!(
            all,
            [
                "spec.list[0].image: Some(\"x:1\") Some(\"x:2\")",
                "spec[x/y]: None Some(\"z\")",
                "spec.more: Some(\"[1]\") Some(\"[1,2]\")",
                "spec.gone: Some(\"{\\\"b\\\":true}\") None",
            ]
        );
    }
}
