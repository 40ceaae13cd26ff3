//! Regression tests for values that led to unintended objects.

use super::{chart, container, deployment, objects, of, refuses, render};
use crate::prelude::*;

const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// A released chart has the digest of its image; see `.github/workflows/release.yaml`.
#[test]
fn the_digest_of_the_released_image_belongs_to_its_tag() {
    let Some(helm) = helm::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(chart()).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let released = folder.path().join("setguard");
    let file = released.join("Chart.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let pinned = format!("\nannotations:\n  setguard.io/image-digest: {DIGEST}\n");
    fs::write(&file, text.replacen("\nannotations:\n", &pinned, 1)).unwrap();
    let image = |flags: &[&str]| {
        let mut command = Command::new(&helm);
        let output = command.args(["template", "setguard"]).arg(&released).args(flags).output();
        let objects = objects(&String::from_utf8(output.unwrap().stdout).unwrap());
        container(&objects)["image"].as_str().unwrap().to_owned()
    };
    let version = env!("CARGO_PKG_VERSION");
    let repository = "ghcr.io/setguard/setguard";
    assert_eq!(image(&[]), format!("{repository}:{version}@{DIGEST}"));
    assert_eq!(image(&["--set", "image.tag=0.9.0"]), format!("{repository}:0.9.0"));
    let other = DIGEST.replace('1', "2");
    let flag = format!("image.digest={other}");
    assert_eq!(image(&["--set", &flag]), format!("{repository}:{version}@{other}"));
}

#[test]
fn the_image_is_taken_from_its_registry_to_nodes_with_linux() {
    let Some(helm) = helm::find() else { return };
    for repository in ["a.example.com/b", "localhost/b", "a:5000/b"] {
        let flag = format!("image.repository={repository}");
        let flags = ["--set", "audit.enabled=true", "--set", &flag];
        let text = render(&helm, &flags);
        let version = env!("CARGO_PKG_VERSION");
        let whole = format!("image: \"{repository}:{version}\"");
        assert_eq!(text.matches(&whole).count(), text.matches("image: ").count(), "{text}");
        let containers = text.matches(" containers:\n").count();
        assert_eq!(text.matches("kubernetes.io/os: linux").count(), containers);
        assert!(containers >= 4, "{text}");
    }
}

#[test]
fn the_registry_and_the_pull_secrets_of_a_parent_chart_are_used() {
    let Some(helm) = helm::find() else { return };
    let global = json!({"imageRegistry": "mirror.example.com",
                        "imagePullSecrets": ["a", {"name": "b"}, {"name": "own"}]});
    let flags = [&format!("global={global}"), r#"imagePullSecrets=[{"name": "own"}]"#];
    let flags: Vec<&str> = flags.iter().flat_map(|flag| ["--set-json", flag]).collect();
    let objects = objects(&render(&helm, &flags));
    let secrets = json!([{"name": "a"}, {"name": "b"}, {"name": "own"}]);
    let specs = super::pods::specs(&objects);
    // The replicas, the test, and two Jobs: after installation, and after deletion of the release.
    assert_eq!(specs.len(), 4);
    for spec in specs {
        assert_eq!(spec["imagePullSecrets"], secrets);
        let image = spec["containers"][0]["image"].as_str().unwrap();
        assert!(image.starts_with("mirror.example.com/setguard/setguard:"), "{image}");
    }
}

#[test]
fn labels_and_annotations_of_users_replace_none_of_the_chart() {
    let Some(helm) = helm::find() else { return };
    let name = "app\\.kubernetes\\.io/name=other";
    let flags = ["commonLabels", "podLabels", "service.labels", "webhook.labels"];
    let flags = flags.map(|field| format!("{field}.{name},{field}.team=a"));
    let common = "commonAnnotations.setguard\\.io/mode=none,commonAnnotations.team=a";
    let flags = flags.iter().map(String::as_str).chain([common]);
    let flags: Vec<&str> = flags.flat_map(|flag| ["--set", flag]).collect();
    let text = render(&helm, &flags);
    for object in objects(&text) {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations["team"], "a", "{object}");
        let mode = if object["kind"] == "Deployment" { "webhook" } else { "none" };
        assert_eq!(annotations["setguard.io/mode"], mode, "{object}");
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/name"], "setguard", "{object}");
        assert_eq!(labels["team"], "a", "{object}");
    }
    // The parser reports a duplicate key.
    let deployment = deployment(&helm, &flags);
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/name"], "setguard");
    assert_eq!(labels["team"], "a");
}

/// Names that YAML would read as numbers or booleans.
#[test]
fn texts_stay_texts() {
    let Some(helm) = helm::find() else { return };
    let names = "nameOverride=1e3 namespaceOverride=007 serviceAccount.name=12 priorityClassName=true \
        runtimeClassName=1 existingPolicyConfigMap=3 tls.clientCA.configMapName=4 tls.secretName=5 \
        tls.mode=certManager metrics.dashboard.namespace=6 metrics.dashboard.enabled=true";
    let flag = |name: &str| if name.ends_with("enabled=true") { "--set" } else { "--set-string" };
    let flags: Vec<&str> = names.split(' ').flat_map(|name| [flag(name), name]).collect();
    let objects = objects(&render(&helm, &flags));
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let is_text = ["name", "namespace", "secretName"].contains(&&**key)
                        || key.ends_with("Name")
                        || path.ends_with("abels");
                    assert!(!is_text || value.is_string(), "{path}.{key}: {value}");
                    check(value, &format!("{path}.{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, path)),
            _ => {}
        }
    }
    for object in &objects {
        check(object, object["kind"].as_str().unwrap());
    }
}

/// The chart doesn't know the API server's port. Without it, no replica becomes ready.
#[test]
fn outgoing_connections_are_restricted_only_if_asked_for() {
    let Some(helm) = helm::find() else { return };
    let policy = |flags: &[&str]| {
        let objects = objects(&render(&helm, flags));
        of(&objects, "NetworkPolicy")[0]["spec"].clone()
    };
    let open = policy(&["--set", "networkPolicy.extraEgress[0].ports[0].port=53"]);
    assert_eq!((&open["policyTypes"], &open["egress"]), (&json!(["Ingress"]), &Value::Null));
    let restrict = "networkPolicy.restrictEgress=true";
    let managed = policy(&["--set", restrict, "--set", "networkPolicy.apiServerPorts={16443}"]);
    assert_eq!(managed["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(managed["egress"], json!([{"ports": [{"port": 16443, "protocol": "TCP"}]}]));
}

fn keys(values: &Value, above: &str, all: &mut Vec<String>) {
    let Value::Object(map) = values else { return };
    for (key, value) in map {
        let path = format!("{above}{}", key.replace('.', "\\."));
        keys(value, &format!("{path}."), all);
        all.push(path);
    }
}

/// `key:` without a value, for example with all list entries commented out.
#[test]
fn no_key_without_a_value_breaks_a_template() {
    let Some(helm) = helm::find() else { return };
    let text = fs::read_to_string(chart().join("values.yaml")).unwrap();
    let values: Value = serde_json::from_str(&support::to_json(&text).remove(0)).unwrap();
    let mut all = Vec::new();
    keys(&values, "", &mut all);
    assert!(all.len() > 200, "{all:?}");
    for key in all {
        render(&helm, &["--set", &format!("{key}=null")]);
    }
}

#[test]
fn sections_without_a_value_have_their_defaults() {
    let Some(helm) = helm::find() else { return };
    let plain = render(&helm, &[]);
    for key in ["webhook", "tls", "image", "autoscaling", "webhook.validating.enabled"] {
        assert_eq!(render(&helm, &["--set", &format!("{key}=null")]), plain, "{key}");
    }
    let empty = render(&helm, &["--set-json", "imagePullSecrets=[]"]);
    assert_eq!(render(&helm, &["--set", "imagePullSecrets=null"]), empty);
    // Null removes values that the chart only passes on.
    let objects = objects(&render(&helm, &["--set", "resources.limits=null"]));
    let container = container(&objects);
    assert!(container["resources"]["limits"].is_null(), "{container}");
    assert!(container["resources"]["requests"].is_object(), "{container}");
}

/// setguard rejects a duplicate flag.
#[test]
fn a_flag_of_the_chart_is_not_an_extra_argument() {
    let Some(helm) = helm::find() else { return };
    let secret =
        ["tls.mode=secret", "tls.secretName=a", "tls.caBundle=-----BEGIN CERTIFICATE-----"];
    let client = ["tls.clientCA.configMapName=a", "inventory.featureGates=true"];
    for values in [&[][..], &secret, &client] {
        let values: Vec<_> = values.iter().flat_map(|value| ["--set", value]).collect();
        let objects = objects(&render(&helm, &values));
        for arg in container(&objects)["args"].as_array().unwrap().iter().skip(1) {
            let flag = arg.as_str().unwrap().split('=').next().unwrap();
            // These flags may repeat.
            if ["--tls-managed-dns-name", "--inventory-namespaces"].contains(&flag) {
                continue;
            }
            let more = format!("extraArgs={}", json!([arg]));
            let words = format!("extraArgs: the chart sets {flag} already");
            refuses(&helm, &[&values[..], &["--set-json", &more]].concat(), &words);
        }
    }
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Values {
    set: Vec<String>,
    json: Vec<String>,
    error: Option<String>,
}

#[test]
fn values_that_cannot_work_are_refused_with_a_sentence() {
    let Some(helm) = helm::find() else { return };
    let all = include_str!("../../fixtures/chart/values.jsonl").lines();
    assert!(all.clone().count() > 70);
    for Values { set, json, error } in all.map(|line| serde_json::from_str(line).unwrap()) {
        let texts = set.iter().flat_map(|value| ["--set", value]);
        let flags: Vec<&str> =
            texts.chain(json.iter().flat_map(|value| ["--set-json", value])).collect();
        match error {
            None => drop(render(&helm, &flags)),
            Some(message) => refuses(&helm, &flags, &message),
        }
    }
}
