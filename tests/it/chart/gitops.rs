//! The manifests in `examples/gitops/`, with the current chart.

use super::{chart, configurations, objects, of, render, rendered};
use crate::prelude::*;

fn manifest(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/gitops").join(name);
    let mut manifests = objects(&fs::read_to_string(path).unwrap());
    assert_eq!(manifests.len(), 1, "{name}");
    manifests.remove(0)
}

#[test]
fn argo_cd_leaves_alone_what_setguard_writes() {
    let spec = manifest("argo-cd.yaml")["spec"].take();
    assert_eq!(spec["source"]["path"], "charts/setguard");
    let Some(helm) = helm::find() else { return };
    let values = spec["source"]["helm"]["valuesObject"].as_object().unwrap().iter();
    let values: Vec<String> = values.map(|(key, value)| format!("{key}={value}")).collect();
    let flags: Vec<&str> = values.iter().flat_map(|value| ["--set-json", value.as_str()]).collect();
    let objects = objects(&render(&helm, &flags));

    let ignored = spec["ignoreDifferences"].as_array().unwrap();
    let of_kind = |kind: &Value| ignored.iter().find(|it| it["kind"] == *kind).unwrap();
    let written = json!([".webhooks[]?.clientConfig.caBundle", ".webhooks[]?.rules"]);
    for configuration in configurations(&objects) {
        let annotations = &configuration["metadata"]["annotations"];
        assert_eq!(annotations["argocd.argoproj.io/sync-wave"], "1");
        assert_eq!(of_kind(&configuration["kind"])["jqPathExpressions"], written);
    }
    let [secret] = of(&objects, "Secret")[..] else { panic!("one Secret") };
    let ignored = of_kind(&secret["kind"]);
    assert_eq!(ignored["name"], secret["metadata"]["name"]);
    assert_eq!(ignored["jsonPointers"], json!(["/data"]));
    assert_eq!(secret["data"], Value::Null);
}

#[test]
fn flux_finds_the_chart() {
    let release = manifest("flux.yaml");
    let path = release["spec"]["chart"]["spec"]["chart"].as_str().unwrap();
    assert_eq!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), chart());
}

#[test]
fn k3s_installs_the_values_of_its_file() {
    let spec = manifest("k3s.yaml")["spec"].take();
    let values = objects(spec["valuesContent"].as_str().unwrap());
    let file = fs::read_to_string(chart().join("clouds/k3s.yaml")).unwrap();
    assert_eq!(values, objects(&file));
    assert_eq!(spec["failurePolicy"], "abort", "no upgrade uninstalls it");
}

/// `kubectl apply` would run the hook of `helm uninstall`.
#[test]
fn nothing_is_left_of_hooks_without_them() {
    let Some(objects) = rendered(&["--no-hooks"]) else { return };
    assert!(of(&objects, "Job").is_empty() && of(&objects, "Pod").is_empty());
    let hooks =
        objects.iter().filter(|it| it["metadata"]["annotations"]["helm.sh/hook"].is_string());
    assert_eq!(hooks.count(), 0);
    configurations(&objects);
}
