//! The fields that an update changes.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, value::Index};
use similar::{
    DiffTag,
    algorithms::{Capture, Replace, lcs},
};

use super::shorten;

/// In bytes. Longer values are cut.
const LONG: usize = 80;

/// Bytes on each side of the part of a long value that differs.
const AROUND: usize = 20;

/// Longer lists without keys are compared as a whole.
const LONG_LIST: usize = 500;

const MARK: usize = "… ".len();

/// The fields that can identify list elements in a pod template or a claim template. The first that all elements have
/// applies.
const KEYS: [&str; 5] = ["/mountPath", "/name", "/metadata/name", "/containerPort", "/key"];

/// A changed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path, such as `spec.template.spec.containers[main].image`.
    pub path: String,
    /// The old value; `None` if the field was absent.
    pub old: Option<String>,
    /// The new value; `None` if the field was removed.
    pub new: Option<String>,
}

/// Collects the fields that differ, in the order of the new value.
pub fn differences(old: &Value, new: &Value, path: &str, found: &mut Vec<Difference>) {
    let meanings = [old, new].map(meaning);
    differences_by_meaning([old, &meanings[0]], [new, &meanings[1]], path, found);
}

/// Like [`differences`], for values with the form to compare. That form has the same structure, and may
/// lack fields.
pub fn differences_by_meaning(
    old: [&Value; 2],
    new: [&Value; 2],
    path: &str,
    found: &mut Vec<Difference>,
) {
    if old[1] == new[1] {
        return;
    }
    match (old[0], new[0]) {
        (Value::Object(olds), Value::Object(news)) => {
            let gone = olds.keys().filter(|key| !news.contains_key(*key));
            for key in news.keys().chain(gone) {
                let [old, new] = [old, new].map(|it| child(it, key));
                differences_by_meaning(old, new, &join(path, key), found);
            }
        }
        // A list that is absent or empty fits any keys.
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null)
            if let Some([old_keys, new_keys]) = keys_of(list(old[0]), list(new[0])) =>
        {
            let places = |keys| -> HashMap<&String, usize> { Iterator::zip(keys, 0..).collect() };
            let (old_at, new_at) = (places(old_keys.iter()), places(new_keys.iter()));
            let gone = old_keys.iter().filter(|key| !new_at.contains_key(key));
            let before = found.len();
            for key in new_keys.iter().chain(gone) {
                let at = |places: &HashMap<_, _>| places.get(key).copied().unwrap_or(usize::MAX);
                let (old, new) = (child(old, at(&old_at)), child(new, at(&new_at)));
                differences_by_meaning(old, new, &format!("{path}[{key}]"), found);
            }
            // A different order is a different template.
            if found.len() == before && old_keys != new_keys {
                let [old, new] = [&old_keys, &new_keys].map(|it| it.join(", ").into());
                push(path, (&old, &new), found);
            }
        }
        (Value::Array(olds), Value::Array(news)) if olds.len().max(news.len()) <= LONG_LIST => {
            let elements =
                |of, count| -> Vec<_> { (0..count).map(|i| child(of, i)[1].to_string()).collect() };
            let (olds, news) = (elements(old, olds.len()), elements(new, news.len()));
            // One algorithm keeps the page small.
            let mut ops = Replace::new(Capture::new());
            let Ok(()) = lcs::diff(&mut ops, &olds, 0..olds.len(), &news, 0..news.len());
            for op in ops.into_inner().into_ops() {
                let (tag, olds, news) = op.as_tag_tuple();
                if tag == DiffTag::Equal {
                    continue;
                }
                if olds.len() == news.len() {
                    for (i, j) in olds.zip(news) {
                        let (old, new) = (child(old, i), child(new, j));
                        differences_by_meaning(old, new, &format!("{path}[{j}]"), found);
                    }
                    continue;
                }
                let gone = olds.map(|i| (child(old, i)[0], &Value::Null));
                let come = news.map(|j| (&Value::Null, child(new, j)[0]));
                gone.chain(come).for_each(|it| push(path, it, found));
            }
        }
        (old, new) => push(path, (old, new), found),
    }
}

fn push(path: &str, (old, new): (&Value, &Value), found: &mut Vec<Difference>) {
    let (old, new) = texts(old, new);
    found.push(Difference { path: path.to_owned(), old, new });
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn child(of: [&Value; 2], index: impl Index + Copy) -> [&Value; 2] {
    of.map(|it| it.get(index).unwrap_or(&Value::Null))
}

/// Returns the keys of the elements. `None` if the elements have the same positions.
fn keys_of(old: &[Value], new: &[Value]) -> Option<[Vec<String>; 2]> {
    KEYS.into_iter().find_map(|key| {
        let keys = |list: &[Value]| -> Option<Vec<String>> {
            list.iter().map(|it| text(it.pointer(key)?)).collect()
        };
        let is_unique = |keys: &Vec<_>| keys.iter().collect::<HashSet<_>>().len() == keys.len();
        let keys = [keys(old)?, keys(new)?];
        keys.iter().all(is_unique).then_some(keys)
    })
}

/// An empty list or mapping means the same as no value.
fn meaning(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(name, value)| (name.clone(), meaning(value)));
            let fields: Map<_, _> = fields.filter(|(_, value)| !value.is_null()).collect();
            if fields.is_empty() { Value::Null } else { Value::Object(fields) }
        }
        Value::Array(list) if list.is_empty() => Value::Null,
        Value::Array(list) => list.iter().map(meaning).collect(),
        other => other.clone(),
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
                "spec.more: None Some(\"2\")",
                "spec.gone: Some(\"{\\\"b\\\":true}\") None",
            ]
        );
    }
}
