//! Checks that generated files are up to date. `UPDATE_GENERATED=1` writes them.

use serde_json::Map;
use setguard::{audit::AuditArgs, catalogue::all, server::ServeArgs};

use crate::prelude::*;
use crate::rule_pages;

#[test]
fn the_pages_of_rules() {
    is_current("docs/rules.md", &rule_pages::index());
    let page = |id: &str| format!("docs/rules/{id}.md");
    let pages: BTreeSet<String> = all().iter().map(|rule| page(rule.meta.id)).collect();
    for rule in all() {
        is_current(&page(rule.meta.id), &rule_pages::page(rule));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join("docs/rules")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stray = format!("docs/rules/{name}");
        assert!(pages.contains(&stray), "{stray} is the page of no rule");
    }
}

/// mdBook builds only the pages in the summary.
#[test]
fn the_rules_in_the_summary_of_the_site() {
    let path = "docs/SUMMARY.md";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let others = text.split_inclusive('\n').filter(|line| !line.contains("](rules/"));
    let others: String = others.collect();
    let rules = "- [Rules](rules.md)\n";
    let (before, after) = others.split_once(rules).unwrap();
    is_current(path, &format!("{before}{rules}{}{after}", rule_pages::summary()));
}

/// Programs that read the site begin with this list.
#[test]
fn the_list_of_pages_for_programs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let changelog = fs::read_to_string(docs.join("../CHANGELOG.md")).unwrap();
    // A program with little space skips the optional sections.
    let mut sections =
        [("Pages", String::new()), ("Rules", String::new()), ("Optional", String::new())];
    for line in summary.lines() {
        let Some((title, page)) = line.split_once("](") else { continue };
        let title = title.trim_start_matches([' ', '-', '[']);
        let page = page.trim_end_matches(')');
        let rule =
            page.strip_prefix("rules/").and_then(|it| catalogue::find(it.strip_suffix(".md")?));
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let text = text.replace("{{#include ../CHANGELOG.md}}", &changelog);
        let sentence = rule.map_or_else(|| first_sentence(&text), |it| it.meta.summary.to_owned());
        assert!(!sentence.is_empty(), "{page} does not begin with a sentence");
        // mdBook turns a README into the index of its folder.
        let address = page.trim_end_matches(".md").replace("README", "index");
        let (_, list) = match page.split_once('/') {
            Some(("rules", _)) => &mut sections[1],
            Some(("adr", _)) => &mut sections[2],
            _ => &mut sections[0],
        };
        let home = env!("CARGO_PKG_HOMEPAGE");
        list.push_str(&format!("- [{title}]({home}/{address}.html): {sentence}\n"));
    }
    let mut text = format!("# setguard\n\n> {}\n", env!("CARGO_PKG_DESCRIPTION"));
    for (title, list) in sections {
        text.push_str(&format!("\n## {title}\n\n{list}"));
    }
    is_current("docs/llms.txt", &text);
}

/// Returns the first sentence below the title of a page, without markup and full stop.
fn first_sentence(page: &str) -> String {
    let mut is_code = false;
    let mut paragraph = String::new();
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let begins = |c: char| c.is_alphanumeric() || ['*', '`', '[', '"'].contains(&c);
        let is_prose = line.starts_with(begins);
        if !is_code && !is_fence && is_prose {
            paragraph.push_str(line);
            paragraph.push(' ');
        } else if !paragraph.is_empty() {
            break;
        }
    }
    let end = paragraph.find(". ").or_else(|| paragraph.find(": ")).unwrap_or(paragraph.len());
    // Keep only the text of a link.
    let mut plain = String::new();
    for piece in paragraph[..end].split('[') {
        match piece.split_once("](").and_then(|(text, rest)| Some((text, rest.split_once(')')?.1)))
        {
            Some((text, rest)) => plain.extend([text, rest]),
            None => plain.push_str(piece),
        }
    }
    plain.replace("**", "").trim_end().to_owned()
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

/// With this schema, Helm rejects a wrong policy immediately; otherwise only a pod log reports the error.
#[test]
fn the_schema_of_the_policy_in_the_values_of_the_chart() {
    let path = "charts/setguard/values.schema.json";
    let mut values: Value = serde_json::from_str(&support::read(path)).unwrap();
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
    let properties = &mut values["properties"];
    properties["extraArgs"]["items"]["pattern"] = json!(flags::<ServeArgs>());
    properties["audit"]["properties"]["extraArgs"]["items"]["pattern"] =
        json!(flags::<AuditArgs>());
    is_current(path, &format!("{}\n", serde_json::to_string_pretty(&values).unwrap()));
}

/// Returns a regular expression for the flags of a command, those with a value as `--flag=value`: with a different flag,
/// no pod would start.
fn flags<A: clap::Args>() -> String {
    let command = A::augment_args(clap::Command::new("setguard"));
    let flags = command
        .get_arguments()
        .filter_map(|it| Some((it.get_long()?, it.get_action().takes_values())));
    let (valued, bare): (Vec<_>, Vec<_>) = flags.partition(|(_, takes_value)| *takes_value);
    let [valued, bare] = [valued, bare].map(|all| {
        let all: BTreeSet<_> = all.into_iter().map(|(flag, _)| flag).collect();
        all.into_iter().collect::<Vec<_>>().join("|")
    });
    format!("^--({bare}|({valued})=.+)$")
}

/// The sections, lists and switches of the chart's values. Templates fall back to these when a user sets them to null.
/// Sections that the chart only passes on are missing here: null removes them.
#[test]
fn the_defaults_of_the_chart() {
    const PASSED_ON: &str = "affinity deploymentAnnotations dnsConfig livenessProbe nodeSelector podSecurityContext \
        policy readinessProbe resources securityContext startupProbe";
    let json = support::to_json(&support::read("charts/setguard/values.yaml")).remove(0);
    let values: Map<String, Value> = serde_json::from_str(&json).unwrap();
    fn without(values: Map<String, Value>) -> BTreeMap<String, Value> {
        let kept = values.into_iter().filter(|(key, _)| PASSED_ON.split(' ').all(|it| it != key));
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
