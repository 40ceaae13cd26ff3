//! Checks that the generated files are up to date. `UPDATE_GENERATED=1` writes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::{Map, Value};
use setguard::catalogue::{all, markdown};
use setguard_testing::recorded::is_current;

#[test]
fn the_pages_of_rules() {
    is_current("docs/rules.md", &markdown::index());
    let page = |id: &str| format!("docs/rules/{id}.md");
    let pages: BTreeSet<String> = all().iter().map(|rule| page(rule.meta.id)).collect();
    for rule in all() {
        is_current(&page(rule.meta.id), &markdown::page(rule));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join("docs/rules")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stray = format!("docs/rules/{name}");
        assert!(pages.contains(&stray), "{stray} is the page of no rule");
    }
}

/// mdBook builds only the pages that the summary lists.
#[test]
fn the_rules_in_the_summary_of_the_site() {
    let path = "docs/SUMMARY.md";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let others = text.split_inclusive('\n').filter(|line| !line.contains("](rules/"));
    let others: String = others.collect();
    let rules = "- [Rules](rules.md)\n";
    let (before, after) = others.split_once(rules).unwrap();
    is_current(path, &format!("{before}{rules}{}{after}", markdown::summary()));
}

/// Programs that read the site begin with this list.
#[test]
fn the_list_of_pages_for_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let mut list = format!("# setguard\n\n> {}\n\n## Pages\n\n", env!("CARGO_PKG_DESCRIPTION"));
    for line in summary.lines() {
        let Some((title, page)) = line.split_once("](") else { continue };
        let title = title.trim_start_matches([' ', '-', '[']);
        let page = page.trim_end_matches(')').trim_end_matches(".md");
        // mdBook makes a README the index of its folder.
        let page = page.replace("README", "index");
        list.push_str(&format!("- [{title}]({}/{page}.html)\n", env!("CARGO_PKG_HOMEPAGE")));
    }
    is_current("docs/llms.txt", &list);
}

#[test]
fn the_schema_of_the_policy() {
    let schema = serde_json::to_string_pretty(&setguard::policy::json_schema()).unwrap();
    is_current("docs/policy.schema.json", &format!("{schema}\n"));
}

#[test]
fn the_schema_of_the_report() {
    let schema = serde_json::to_string_pretty(&setguard::report::json::schema()).unwrap();
    is_current("docs/report.schema.json", &format!("{schema}\n"));
}

#[cfg(unix)]
#[test]
fn the_rules_of_the_chart() {
    let yaml = setguard::server::webhooks::chart_yaml().unwrap();
    is_current("charts/setguard/files/webhook-rules.yaml", &yaml);
}

#[test]
fn the_policies_of_the_chart() {
    let yaml = setguard::cli::export::chart::yaml().unwrap();
    is_current("charts/setguard/files/policies.yaml", &yaml);
}

/// With this schema Helm rejects a wrong policy at once; without it only the log of a pod would
/// report the error.
#[test]
fn the_schema_of_the_policy_in_the_values_of_the_chart() {
    let path = "charts/setguard/values.schema.json";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let mut values: Value = serde_json::from_str(&text).unwrap();
    let policy = setguard::policy::json_schema();
    let properties = policy["properties"].as_object().unwrap().iter();
    // The chart sets these three itself.
    let keys = properties.filter(|(key, _)| !["apiVersion", "kind", "metadata"].contains(&&***key));
    values["properties"]["policy"]["properties"] =
        keys.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into();
    for (name, definition) in policy["$defs"].as_object().unwrap() {
        if name != "PolicyMetadata" {
            values["$defs"][name] = definition.clone();
        }
    }
    is_current(path, &format!("{}\n", serde_json::to_string_pretty(&values).unwrap()));
}

/// The sections, lists and switches of the chart's values, which templates read back when a user sets
/// them to null. Left out are the sections that the chart only passes on: null removes them.
#[test]
fn the_defaults_of_the_chart() {
    const PASSED_ON: &[&str] = &[
        "affinity",
        "deploymentAnnotations",
        "dnsConfig",
        "livenessProbe",
        "nodeSelector",
        "podSecurityContext",
        "policy",
        "readinessProbe",
        "resources",
        "securityContext",
        "startupProbe",
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard/values.yaml");
    let text = fs::read_to_string(path).unwrap();
    let json = crate::support::to_json(&text).remove(0);
    let values: Map<String, Value> = serde_json::from_str(&json).unwrap();
    fn without(values: Map<String, Value>) -> BTreeMap<String, Value> {
        let kept = values.into_iter().filter(|(key, _)| !PASSED_ON.contains(&&**key));
        let kept = kept.map(|(key, value)| match value {
            Value::Object(section) => (key, serde_json::to_value(without(section)).unwrap()),
            other => (key, other),
        });
        kept.collect()
    }
    let mut kept = without(values);
    kept.retain(|_, value| value.is_object() || value.is_array() || value.is_boolean());
    let yaml = serde_saphyr::to_string(&kept).unwrap();
    let header = "# Written from values.yaml: UPDATE_GENERATED=1 cargo test --test it generated\n";
    is_current("charts/setguard/files/defaults.yaml", &format!("{header}{}\n", yaml.trim_end()));
}

#[cfg(unix)]
#[test]
fn the_readme_of_the_chart() {
    is_current("charts/setguard/README.md", &crate::chart::readme::markdown());
}

#[test]
fn the_pictures_of_the_terminal() {
    for (path, picture) in crate::pictures::all() {
        is_current(path, &picture);
    }
}
