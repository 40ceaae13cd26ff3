//! The release in Chart.yaml and the templates.

use super::{chart, render, value_files};
use crate::prelude::*;
use crate::support::read;

#[test]
fn the_linter_has_no_remarks() {
    let Some(helm) = helm::find() else { return };
    for file in value_files() {
        let mut command = Command::new(&helm);
        let output = command.args(["lint", "--strict", "--values", &file]).arg(chart()).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(text.contains("1 chart(s) linted, 0 chart(s) failed"), "{file}: {text}");
        assert!(!text.contains("\n["), "{file}: {text}");
    }
}

#[test]
fn the_oldest_kubernetes_is_the_same_everywhere() {
    let oldest = Version::OLDEST;
    let chart = read("charts/setguard/Chart.yaml");
    assert!(chart.contains(&format!("\nkubeVersion: \">={oldest}.0-0\"\n")));
    let operations = read("docs/operations.md");
    assert!(operations.contains(&format!("Kubernetes {oldest} or newer")));
    let workflow = read(".github/workflows/test.yaml");
    let first = workflow.lines().find(|line| line.contains(" kubernetes: ["));
    assert!(first.unwrap().contains(&format!("kubernetes: [\"{oldest}\",")), "{first:?}");
}

#[test]
fn the_chart_has_this_version_and_every_value_has_a_comment() {
    let chart = fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    for key in ["version", "appVersion"] {
        let line = format!("\n{key}: {}\n", env!("CARGO_PKG_VERSION"));
        assert!(chart.contains(&line), "Chart.yaml: {key} differs from Cargo.toml");
    }
    let text = fs::read_to_string(self::chart().join("values.yaml")).unwrap();
    let schema = fs::read_to_string(self::chart().join("values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let values: Value = serde_json::from_str(&support::to_json(&text)[0]).unwrap();
    // `global` comes from parent charts.
    let known: BTreeSet<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let given: BTreeSet<&String> = values.as_object().unwrap().keys().collect();
    let only: Vec<_> = known.symmetric_difference(&given).map(|key| &***key).collect();
    assert_eq!(only, ["global"]);
    closed(&schema, "values");

    // Kubernetes documents the content of these fields.
    let fields = ["Probe:", "resources:", "ecurityContext:", "updateStrategy:", "labels:"];
    let mut below: Option<usize> = None;
    let mut before = "";
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if below.is_some_and(|field| indent <= field) {
            below = None;
        }
        let is_key = line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic());
        if is_key && below.is_none() {
            assert!(before.trim_start().starts_with('#'), "values.yaml: no comment above {line:?}");
            below = fields.iter().any(|field| line.trim_end().ends_with(field)).then_some(indent);
        }
        before = line;
    }
}

fn closed(schema: &Value, path: &str) {
    if let Some(properties) = schema["properties"].as_object() {
        assert_eq!(schema["additionalProperties"], false, "{path}");
        for (key, value) in properties {
            closed(value, &format!("{path}.{key}"));
        }
    }
}

/// A rendering must not depend on the cluster or on random values: GitOps tools have no cluster and expect the same
/// result every time. The chart looks at the cluster only to refuse a mode change that would leave a gap, and to inject
/// during one.
#[test]
fn templates_use_neither_the_cluster_nor_random_values() {
    let mut folders = vec![chart().join("templates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut text = fs::read_to_string(&path).unwrap();
            for name in ["checkChange", "ownMinor", "policiesInject"] {
                let refuses = format!("{{{{- define \"setguard.{name}\" -}}}}");
                if let Some((before, rest)) = text.split_once(&refuses)
                    && let Some((_, rest)) = rest.split_once("\n\n")
                {
                    text = before.to_owned() + rest;
                }
            }
            let forbidden = "lookup ,genCA,genSelfSignedCert,genSignedCert,genPrivateKey,rand,uuidv4,now ,\
                .Release.IsUpgrade,.Release.Revision,.Capabilities";
            let actions = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            for action in actions.filter(|action| !action.contains("/*")) {
                for word in forbidden.split(',') {
                    assert!(!action.contains(word), "{}: {word}", path.display());
                }
            }
        }
    }
}

/// The annotations that Artifact Hub shows. Docs: artifacthub.io/docs/topics/annotations/helm.
#[test]
fn the_metadata_for_artifact_hub_is_true() {
    let text = fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    let meta: Value = serde_json::from_str(&support::to_json(&text)[0]).unwrap();
    let of = |key: &str| {
        let text = meta["annotations"][format!("artifacthub.io/{key}")].as_str().unwrap();
        serde_json::from_str::<Value>(&support::to_json(text)[0]).unwrap()
    };
    assert_eq!(meta["annotations"]["artifacthub.io/license"], env!("CARGO_PKG_LICENSE"));
    let image = of("images")[0]["image"].as_str().unwrap().to_owned();
    if let Some(helm) = helm::find() {
        assert!(render(&helm, &[]).contains(&format!("image: \"{image}\"")), "{image}");
    }
    let dockerfile = read("Dockerfile");
    for platform in of("images")[0]["platforms"].as_array().unwrap() {
        let arch = platform.as_str().unwrap().strip_prefix("linux/").unwrap();
        assert!(dockerfile.contains(&format!(" {arch}) cpu=")), "{arch}");
    }
    for change in of("changes").as_array().unwrap() {
        let kinds = ["added", "changed", "deprecated", "removed", "fixed", "security"];
        assert!(kinds.contains(&change["kind"].as_str().unwrap()), "{change}");
        assert!(change["description"].is_string(), "{change}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for link in of("links").as_array().unwrap() {
        let url = link["url"].as_str().unwrap();
        let page = url.strip_prefix("https://setguard.io/").map(|it| it.replace(".html", ".md"));
        assert!(page.is_none_or(|page| docs.join(page).exists()), "{url}");
    }
    let (_, icon) = meta["icon"].as_str().unwrap().split_once("/main/").unwrap();
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(icon).exists(), "{icon}");
}

/// The documented commands work with the registry and with a checkout.
#[test]
fn commands_with_the_chart_need_no_checkout() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut commands = 0;
    for entry in fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let page = path.file_name().unwrap().display();
        for line in text.lines() {
            let line = line.trim();
            let of = ["helm install setguard ", "helm upgrade setguard "];
            let Some(rest) = of.iter().find_map(|command| line.strip_prefix(command)) else {
                continue;
            };
            commands += 1;
            // Only for development in a checkout.
            if rest.starts_with("./charts/setguard ") {
                assert!(text.contains("from a checkout"), "{page}: {line}");
                continue;
            }
            let chart = rest.split(' ').next().unwrap();
            assert!(chart == "\"$chart\"" || chart.starts_with("oci://"), "{page}: {line}");
            if chart.starts_with('"') {
                for source in ["chart=", "oci://ghcr.io/setguard/charts/setguard"] {
                    assert!(text.contains(source), "{page} does not say what $chart is");
                }
            }
        }
    }
    assert!(commands > 4, "{commands}");
}
