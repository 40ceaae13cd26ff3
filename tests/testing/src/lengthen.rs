//! Objects with every list and map of their schema, and functions to lengthen these.

use crate::prelude::*;

/// How the elements of a long list differ.
#[derive(Clone, Copy, Debug)]
pub enum Elements {
    /// Equal, and as short as JSON permits.
    Empty,
    Same,
    /// Every text and number differs between elements.
    Distinct,
    /// Like `Distinct`, with alternating operators and effects.
    Mixed,
}

/// Objects with every list and map of their schema.
pub fn objects() -> [Value; 2] {
    let read = |name: &str| -> Value {
        let folder = Path::new(ROOT).join("tests/fixtures/growth");
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let pod_spec = read("pod-spec.json");
    ["daemonset.json", "statefulset.json"].map(|name| {
        let mut object = read(name);
        object["spec"]["template"]["spec"] = pod_spec.clone();
        object
    })
}

pub fn lists(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            found.push(at.to_owned());
            for (i, item) in items.iter().enumerate() {
                lists(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(entries) => {
            const MAPS: &str =
                "labels annotations matchLabels nodeSelector limits requests overhead";
            if MAPS.split(' ').any(|name| at.ends_with(&format!("/{name}"))) {
                found.push(at.to_owned());
            } else {
                for (key, item) in entries {
                    lists(item, &format!("{at}/{key}"), found);
                }
            }
        }
        _ => {}
    }
}

pub fn lengthen(value: &mut Value, length: usize, elements: Elements) {
    match value {
        Value::Array(items) => {
            let first = items[0].clone();
            items.extend((1..length).map(|i| changed(&first, i, elements)));
        }
        Value::Object(entries) => {
            let (key, first) = entries.iter().next().map(|(k, v)| (k.clone(), v.clone())).unwrap();
            for i in 1..length {
                entries.insert(format!("{key}-{i}"), first.clone());
            }
        }
        other => panic!("{other} is no list"),
    }
}

fn changed(value: &Value, i: usize, elements: Elements) -> Value {
    let pick = |words: &[&str]| Value::from(words[i % words.len()]);
    match (elements, value) {
        (Elements::Same, value) => value.clone(),
        (Elements::Empty, Value::Object(_)) => json!({}),
        (Elements::Empty, Value::Number(_)) => json!(0),
        (Elements::Empty, _) => json!(""),
        (_, Value::String(text)) => format!("{text}-{i}").into(),
        (_, Value::Number(number)) => number.as_i64().map_or(0, |n| n + i as i64).into(),
        (_, Value::Array(items)) => items.iter().map(|item| changed(item, i, elements)).collect(),
        (_, Value::Object(entries)) => {
            let changed = |(key, item): (&String, &Value)| {
                let item = match (elements, key.as_str()) {
                    (Elements::Mixed, "operator") => pick(&["In", "NotIn", "Exists", "Equal", ""]),
                    (Elements::Mixed, "effect") => pick(&["NoExecute", "NoSchedule", ""]),
                    // The same key in all elements, so that its requirements add up.
                    (Elements::Mixed, "key" | "topologyKey") => item.clone(),
                    _ => changed(item, i, elements),
                };
                (key.clone(), item)
            };
            Value::Object(entries.iter().map(changed).collect())
        }
        (_, value) => value.clone(),
    }
}
