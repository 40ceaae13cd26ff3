//! Each document becomes valid JSON, or a problem with a line of the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use kube_yaml as yaml;

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    for document in yaml::parse(text) {
        match document {
            Ok(document) => {
                let json = document.root.to_json();
                // Not a `Value`: serde_json then refuses keys that it uses itself, such as
                // `$serde_json::private::RawValue`.
                serde_json::from_str::<&RawValue>(&json).expect("JSON");
            }
            Err(problem) => assert!(problem.mark.line <= lines + 1, "{problem:?}"),
        }
    }
});
