//! Validates JSON against JSON Schemas.

use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// Asserts that JSON is what a JSON Schema says.
pub(crate) fn assert_valid(json: &Value, schema: Value, what: &str) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource("file:///schema.json", schema).unwrap();
    let schema = compiler.compile("file:///schema.json", &mut schemas).unwrap();
    schemas.validate(json, schema).unwrap_or_else(|error| panic!("{what}: {error:#}"));
}

/// Parses a JSON report, and checks it against the published schema. Properties that the schema does not
/// have are an error here, although later releases may add some.
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

/// Has each object of a schema refuse other properties.
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
