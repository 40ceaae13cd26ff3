//! The fields that an update changes.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::shorten;

/// In bytes. Longer values are cut.
const LONG: usize = 80;

/// Bytes on each side of the part of a long value that differs.
const AROUND: usize = 20;

const MARK: usize = "… ".len();

/// The fields that can identify list elements in a pod template or a claim template. The first that all elements have
/// applies.
const KEYS: [&str; 5] = ["/mountPath", "/name", "/metadata/name", "/containerPort", "/key"];

/// A changed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path, such as `spec.template.spec.containers[0].image`.
    pub path: String,
    /// The old value; `None` if the field was absent.
    pub old: Option<String>,
    /// The new value; `None` if the field was removed.
    pub new: Option<String>,
}

/// Collects the fields that differ, in the order of the new value.
pub fn differences(old: &Value, new: &Value, path: &str, found: &mut Vec<Difference>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, new) in new {
                differences(old.get(key).unwrap_or(&Value::Null), new, &join(path, key), found);
            }
            for (key, old) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
                differences(old, &Value::Null, &join(path, key), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if let Some(key) = key_of(old, new) => {
            let by_key = |list: &[Value]| -> Map<String, Value> {
                list.iter().filter_map(|it| Some((key_text(it, key)?, it.clone()))).collect()
            };
            let (old, new) = (by_key(old), by_key(new));
            for (name, new) in &new {
                let old = old.get(name).unwrap_or(&Value::Null);
                differences(old, new, &format!("{path}[{name}]"), found);
            }
            for (name, old) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
                differences(old, &Value::Null, &format!("{path}[{name}]"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, &format!("{path}[{i}]"), found);
            }
        }
        _ if old == new || (is_empty(old) && is_empty(new)) => {}
        _ => {
            let (old, new) = texts(old, new);
            found.push(Difference { path: path.to_owned(), old, new });
        }
    }
}

/// `None` if the elements have the same positions.
fn key_of(old: &[Value], new: &[Value]) -> Option<&'static str> {
    KEYS.into_iter().find(|key| {
        let keys = |list: &[Value]| -> Option<Vec<String>> {
            list.iter().map(|it| key_text(it, key)).collect()
        };
        let is_unique = |keys: &[String]| keys.iter().collect::<HashSet<_>>().len() == keys.len();
        let keys = keys(old).zip(keys(new));
        keys.is_some_and(|(old, new)| old != new && is_unique(&old) && is_unique(&new))
    })
}

fn key_text(element: &Value, key: &str) -> Option<String> {
    text(element.pointer(key)?)
}

/// An empty list or mapping means the same as no value.
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

fn texts(old: &Value, new: &Value) -> (Option<String>, Option<String>) {
    let (mut old, mut new) = (text(old), text(new));
    if let (Some(old), Some(new)) = (&mut old, &mut new)
        && old.len().max(new.len()) > LONG
    {
        let start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let start = old.floor_char_boundary(start.saturating_sub(AROUND));
        let (a, b) = (old.split_off(start), new.split_off(start));
        let same = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
        let end = same.saturating_sub(AROUND);
        let cut = |text: &str| {
            let kept = &text[..text.ceil_char_boundary(text.len() - end)];
            let before = if start > 0 { "… " } else { "" };
            let after = if kept.len() < text.len() { " …" } else { "" };
            format!("{before}{}{after}", shorten(kept, LONG))
        };
        (*old, *new) = (cut(&a), cut(&b));
    }
    let line = |text: String| shorten(&text, LONG + 2 * MARK).replace('\n', " ");
    (old.map(line), new.map(line))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// From the history of Azure/AKS: shortening made both texts equal.
    #[test]
    fn of_long_values_the_part_that_differs_is_shown() {
        let script = |word: &str| json!(format!("{}{word}{}", "a ".repeat(60), " z".repeat(60)));
        let mut found = Vec::new();
        differences(&script("old"), &script("new one"), "spec", &mut found);
        let [Difference { old: Some(old), new: Some(new), .. }] = &found[..] else {
            panic!("{found:?}")
        };
        let (before, after) = ("… a a a a a a a a a a ", " z z z z z z z z z z …");
        assert_eq!(*old, format!("{before}old{after}"));
        assert_eq!(*new, format!("{before}new one{after}"));
        let mut found = Vec::new();
        differences(&json!("é".repeat(90)), &json!("è".repeat(90)), "spec", &mut found);
        assert!(found[0].old.as_ref().unwrap().starts_with("éé"), "{found:?}");
    }

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
