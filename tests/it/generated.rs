//! Files that are written from the code are current. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::Path};

fn is_current(path: &str, content: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, content).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == content,
        "{} is not current: UPDATE_GENERATED=1 cargo test --test it generated",
        path.display()
    );
}

#[test]
fn the_page_of_rules() {
    is_current("docs/rules.md", &setguard::docs::rules_markdown());
}

#[test]
fn the_schema_of_the_policy() {
    let schema = serde_json::to_string_pretty(&setguard::config::json_schema()).unwrap();
    is_current("docs/policy.schema.json", &format!("{schema}\n"));
}
