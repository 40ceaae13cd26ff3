//! docs/security.md documents each right in the chart.

use std::{fs, path::Path};

use serde_json::Value;

use super::{objects, of, render};
use crate::helm;

fn rows() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## What setguard's account can do\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    section.lines().filter(|line| line.starts_with('|')).map(str::to_lowercase).collect()
}

fn word(resource: &str) -> &str {
    match resource {
        "validatingwebhookconfigurations" | "mutatingwebhookconfigurations" => "configuration",
        "policyreports" => "reports",
        _ => resource
            .strip_suffix("es")
            .filter(|it| it.ends_with('s'))
            .unwrap_or_else(|| resource.strip_suffix('s').unwrap_or(resource)),
    }
}

#[test]
fn each_right_has_a_row_with_its_effect() {
    let Some(helm) = helm::find() else { return };
    let flags = "audit.enabled=true,inventory.mode=full,inventory.featureGates=true,\
                 webhook.ownerNeedsDelete=true,test.namespace=shop";
    let all = objects(&render(&helm, &["--set", flags]));
    let rows = rows();
    assert!(rows.len() > 15, "{rows:?}");
    let says = |words: &[&str]| rows.iter().any(|row| words.iter().all(|word| row.contains(word)));
    let mut rights = 0;
    for role in of(&all, "ClusterRole").into_iter().chain(of(&all, "Role")) {
        let name = role["metadata"]["name"].as_str().unwrap();
        for rule in role["rules"].as_array().unwrap() {
            let texts = |key: &str| -> Vec<&str> {
                let all = rule[key].as_array().into_iter().flatten();
                all.map(|text: &Value| text.as_str().unwrap()).collect()
            };
            for verb in texts("verbs") {
                let verb = format!("`{verb}`");
                for url in texts("nonResourceURLs") {
                    assert!(says(&[&verb, url]), "{name}: {verb} {url}");
                }
                for resource in texts("resources") {
                    // The kinds of the inventory share one row.
                    let word =
                        if name.ends_with("-inventory") { "inventory" } else { word(resource) };
                    assert!(says(&[&verb, word]), "{name}: {verb} {resource}");
                    rights += 1;
                }
            }
        }
    }
    assert!(rights > 60, "{rights}");
}
