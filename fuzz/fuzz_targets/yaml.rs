//! Each document is JSON with the same content, or a problem with a line of the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use setguard::yaml;

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    for document in yaml::parse(text) {
        match document {
            Ok(document) => {
                let json = document.root.to_json();
                serde_json::from_str::<Value>(&json).expect("JSON");
            }
            Err(problem) => assert!(problem.mark.line <= lines + 1, "{problem:?}"),
        }
    }
});
