use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Map, Value, json};

/// Puts the worst findings first, so that a cut leaves out the least severe, and adds the count of each rule.
pub(super) fn worst_first(value: &mut Value) {
    let Some(Value::Array(findings)) = value.pointer_mut("/report/findings") else { return };
    findings.sort_by_key(|it| match it["severity"].as_str() {
        Some("error") => 0,
        Some("warning") => 1,
        _ => 2,
    });
    let mut rules = BTreeMap::<String, u64>::new();
    for rule in findings.iter().filter_map(|it| it["rule"].as_str()) {
        *rules.entry(rule.to_owned()).or_default() += 1;
    }
    value["findingsByRule"] = json!(rules);
}

/// Cuts the longest lists until the value has at most `most` bytes as JSON, and adds how many entries are missing.
pub(super) fn within(mut value: Value, most: usize) -> Value {
    let mut left_out = Map::new();
    while value.to_string().len() > most {
        let Some(path) = longest(&value) else {
            return json!({"leftOut": "the result is too large; ask for fewer objects"});
        };
        let Some(Value::Array(list)) = value.pointer_mut(&path) else { break };
        let cut = list.len().div_ceil(2);
        list.truncate(list.len() - cut);
        let before = left_out.get(&path).and_then(Value::as_u64).unwrap_or_default();
        left_out.insert(path, (before + cut as u64).into());
    }
    // A cut may have removed a list together with its parent.
    left_out.retain(|path, _| value.pointer(path).is_some());
    if let (Value::Object(members), false) = (&mut value, left_out.is_empty()) {
        members.insert("leftOut".to_owned(), left_out.into());
    }
    value
}

/// Returns the JSON pointer of the list that takes the most bytes, not counting the lists inside it.
fn longest(value: &Value) -> Option<String> {
    let mut lists = Vec::new();
    collect(value, &mut String::new(), &mut lists);
    lists.sort_by_key(|(size, path)| (Reverse(*size), path.clone()));
    lists.into_iter().next().map(|(_, path)| path)
}

/// Returns the size of the value without its lists.
fn collect(value: &Value, path: &mut String, lists: &mut Vec<(usize, String)>) -> usize {
    let length = path.len();
    match value {
        Value::Array(items) => {
            let mut size = 0;
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("/{i}"));
                size += collect(item, path, lists);
                path.truncate(length);
            }
            if !items.is_empty() {
                lists.push((size.max(items.len()), path.clone()));
            }
            0
        }
        Value::Object(members) => {
            let mut size = 0;
            for (key, member) in members {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                size += key.len() + collect(member, path, lists);
                path.truncate(length);
            }
            size
        }
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_lists_are_cut_and_the_entries_counted() {
        let small = json!({"report": {"findings": ["a", "b"]}});
        assert_eq!(within(small.clone(), 1_000), small);
        let many: Vec<_> = (0..1_000).map(|i| json!({"message": format!("finding {i}")})).collect();
        let value = json!({"report": {"findings": many, "files": ["a.yaml"]}});
        let cut = within(value, 5_000);
        let kept = cut["report"]["findings"].as_array().unwrap().len();
        assert!(kept > 50 && cut.to_string().len() < 5_100, "{kept} are kept");
        assert_eq!(cut["leftOut"]["/report/findings"], 1_000 - kept);
        assert_eq!(cut["report"]["files"], json!(["a.yaml"]));
    }

    #[test]
    fn lists_in_lists_are_cut_first_if_they_are_longer() {
        let steps: Vec<_> = (0..500).map(|i| format!("step {i}")).collect();
        let value = json!({"plan": {"objects": [{"steps": steps}, {"steps": ["one"]}]}});
        let cut = within(value, 1_000);
        assert_eq!(cut["plan"]["objects"].as_array().unwrap().len(), 2, "{cut}");
        assert!(cut["leftOut"]["/plan/objects/0/steps"].as_u64() > Some(400), "{cut}");
    }

    #[test]
    fn a_text_that_is_too_long_is_not_returned() {
        let cut = within(json!({"text": "x".repeat(2_000)}), 1_000);
        assert!(cut["leftOut"].is_string(), "{cut}");
    }
}
