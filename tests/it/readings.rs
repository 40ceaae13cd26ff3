//! Compares how setguard and kubectl read YAML and JSON (`tests/readings`).

use crate::prelude::*;

const SHOWN: usize = 12;

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    /// The documents before the first that kubectl refuses.
    read: Vec<Value>,
    /// Why kubectl stops there.
    error: Option<String>,
}

#[derive(Debug, Default)]
struct Reading {
    /// The documents before the first that setguard refuses.
    read: Vec<Value>,
    error: Option<String>,
    /// Whether setguard reports text that kubectl silently ignores.
    ignored: bool,
    /// Whether setguard reports a duplicate key.
    twice: bool,
}

fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    for document in yaml::documents(text) {
        match document {
            Ok(document) => {
                reading.twice |= !document.problems.is_empty();
                reading.read.push(serde_json::from_str(&document.root.to_json()).unwrap());
            }
            Err(problem) if problem.message.contains("kubectl ignores") => reading.ignored = true,
            Err(problem) => {
                reading.error = Some(problem.to_string());
                break;
            }
        }
    }
    reading
}

/// Compares numbers by value: kubectl keeps the notation of JSON.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => are_same(a, b),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

fn are_same(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
}

#[test]
fn texts_are_read_as_by_kubectl() {
    let (mut cases, mut agreed, mut refused) = (0, 0, 0);
    let (mut ignored, mut twice, mut deep) = (0, 0, 0);
    let mut mismatches = Vec::new();
    for line in include_str!("../readings/readings.jsonl").split('\n').filter(|it| !it.is_empty()) {
        let Case { text, read: theirs, error } = serde_json::from_str(line).unwrap();
        let ours = read(&text);
        cases += 1;
        let is_deep = ours.error.as_ref().is_some_and(|error| error.contains("nested deeper"));
        let is_agreed = match (&error, &ours.error) {
            (None, None) => are_same(&theirs, &ours.read),
            // kubectl drops a document if the separator after it is wrong.
            (Some(_), Some(_)) => {
                ours.read.len() >= theirs.len() && are_same(&theirs, &ours.read[..theirs.len()])
            }
            _ => false,
        };
        if is_agreed {
            agreed += 1;
            refused += usize::from(error.is_some());
            ignored += usize::from(ours.ignored);
            twice += usize::from(ours.twice && !ours.ignored);
        } else if is_deep && error.is_none() {
            deep += 1;
        } else {
            mismatches.push(format!("{text:?}\n  kubectl: {error:?} {theirs:?}\n  {ours:?}"));
        }
    }
    println!(
        "{cases} texts: {agreed} read alike ({refused} refused by both; setguard reports text that \
         kubectl ignores in {ignored}, and keys that occur twice in {twice} others), {deep} nested \
         too deeply for setguard, {} otherwise",
        mismatches.len()
    );
    mismatches.truncate(SHOWN);
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
    assert!(cases >= 2_500 && deep <= 5, "{cases} cases, {deep} nested too deeply");
}
