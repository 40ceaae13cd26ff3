//! Scalars and keys, compared with kubectl.

// `json` is a function and a macro.
use super::{error, json};
use crate::prelude::*;

/// A scalar and kubectl 1.36.2's reading of it (`kubectl annotate --local -o json`).
#[derive(serde::Deserialize)]
struct Scalar {
    text: String,
    #[serde(default)]
    read: Value,
    #[serde(default)]
    error: bool,
}

#[test]
fn plain_scalars_are_read_as_by_kubectl() {
    let scalars = include_str!("../../readings/scalars.jsonl").lines();
    assert!(scalars.clone().count() > 100);
    for Scalar { text, read, error } in scalars.map(|line| serde_json::from_str(line).unwrap()) {
        let document = format!("k: {text}\n");
        if error {
            self::error(&document);
        } else {
            assert_eq!(json(&document)["k"], read, "{text}");
        }
    }
}

#[test]
fn keys_become_text_as_with_kubectl() {
    let text = "{n: 0, 1.5: 0, 1.0: 0, 0x10: 0, yes: 0, 1e30: 0, 0.1: 0, 1234567.5: 0, \
                123456789.125: 0, 2001-01-01: 0}";
    let keys: Vec<_> = json(text).as_object().unwrap().keys().cloned().collect();
    let expected = "false 1.5 1 16 true 1e+30 0.1 1.2345675e+06 1.2345679e+08 2001-01-01";
    assert_eq!(keys.join(" "), expected);
    for wrong in ["~: 1", "? [a]\n: 1", "? {a: 1}\n: 1", "12345678901234567890: 1"] {
        error(wrong);
    }
}
