use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

pub(crate) fn assert_valid(json: &Value, schema: Value, what: &str) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource("file:///schema.json", schema).unwrap();
    let schema = compiler.compile("file:///schema.json", &mut schemas).unwrap();
    schemas.validate(json, schema).unwrap_or_else(|error| panic!("{what}: {error:#}"));
}

/// Parses a JSON report and checks it against the published schema. Rejects properties outside of the schema, although
/// later releases may add some.
pub(crate) fn report(text: &str) -> Value {
    static SCHEMA: LazyLock<(Schemas, SchemaIndex)> = LazyLock::new(|| {
        let mut schema = setguard::report::json::schema();
        close(&mut schema);
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("file:///report.json", schema).unwrap();
        let index = compiler.compile("file:///report.json", &mut schemas).unwrap();
        (schemas, index)
    });
    let report: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (schemas, index) = &*SCHEMA;
    schemas.validate(&report, *index).unwrap_or_else(|error| panic!("{error:#}: {text}"));
    report
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            if map.contains_key("properties") {
                map.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Parses SARIF, and checks it against the schema and GitHub's additional requirements.
pub(crate) fn sarif(text: &str) -> Value {
    let log: Value = serde_json::from_str(text).unwrap();
    let schema = serde_json::from_str(include_str!("../schemas/sarif-schema-2.1.0.json")).unwrap();
    assert_valid(&log, schema, "the log");
    let run = &log["runs"][0];
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        for pointer in
            ["/shortDescription/text", "/fullDescription/text", "/help/text", "/help/markdown"]
        {
            let text = rule.pointer(pointer).and_then(Value::as_str).unwrap();
            assert!(!text.is_empty(), "{rule}");
            assert!(pointer.starts_with("/help") || text.chars().count() <= 1024, "{rule}");
        }
        assert!(rule["helpUri"].as_str().unwrap().starts_with("https://"), "{rule}");
        assert_eq!(rule["properties"].get("security-severity"), None);
    }
    for result in run["results"].as_array().unwrap() {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.is_empty() && !uri.starts_with("./") && !uri.contains(' '), "{uri}");
        for key in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(place["region"][key].as_u64() >= Some(1), "{place}");
        }
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    log
}
