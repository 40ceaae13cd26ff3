//! The match condition for `/mutate`: an object outside of it must need neither a warning nor a patch.

use crate::corpus::{self, Bases};
use crate::prelude::*;

pub(super) const CASES: &[Case] =
    &[Case::new("what-is-not-sent-to-mutate-needs-nothing-from-it", nothing_is_lost)];

/// In this namespace, a second webhook sends everything to `/mutate`. The name has the case name's length, because
/// warnings are shortened by length.
const ASKED: &str = "what-is-all-sent-to-mutate-needs-nothing-from-it";
const CONDITIONAL: &str = "workloads.mutate.setguard.io";
const LABELLED: &str = "labelled.mutate.setguard.io";
const UNCONDITIONAL: &str = "unconditional.setguard.io";

/// Sends the recorded requests to two namespaces, one of them without the match condition, and compares the answers.
fn nothing_is_lost(namespace: &Namespace<'_>) {
    let control_plane = namespace.control_plane;
    let asked = Namespace::create(control_plane, ASKED);
    ask_about_everything(&asked);
    let kubeconfig = &control_plane.kubectl.kubeconfig;
    let tally = client::block_on(async {
        compare_all(&client::of(kubeconfig).await, [namespace.name, ASKED]).await
    });
    assert!(tally.creates > 300 && tally.updates > 300, "{tally:?}");
    assert!(tally.patched > 10 && tally.immutable > 20, "{tally:?}");
    // Since 1.37 the API server no longer drops maxUnavailable.
    let drops = control_plane.minor() < 37;
    assert!(if drops { tally.ignored > 50 } else { tally.ignored == 0 }, "{tally:?}");

    let metrics = control_plane.kubectl.run(&["get", "--raw", "/metrics"], "").accepted().stdout;
    let sum = |metric: &str, webhook: &str| -> f64 {
        let of_webhook = format!("name=\"{webhook}\"");
        let lines = metrics.lines().filter(|l| l.starts_with(metric) && l.contains(&of_webhook));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    };
    let errors = "apiserver_admission_match_condition_evaluation_errors_total";
    assert_eq!(sum(errors, CONDITIONAL), 0.0, "a condition that fails is a call that is lost");
    let calls = |webhook| sum("apiserver_admission_webhook_request_total", webhook);
    let called = calls(CONDITIONAL) + calls(LABELLED);
    // The counts include both namespaces.
    let writes = 2.0 * (tally.creates + tally.updates) as f64;
    assert!(called < writes / 2.0, "only {} of {writes} calls were spared", writes - called);
}

fn ask_about_everything(asked: &Namespace<'_>) {
    let get = |kind| asked.kubectl(&["get", kind, "setguard", "-o", "json"], "").json();
    let mut configuration = get("mutatingwebhookconfiguration");
    let validating = get("validatingwebhookconfiguration");
    let webhooks = configuration["webhooks"].as_array_mut().expect("webhooks");
    webhooks.retain(|webhook| webhook["name"] == CONDITIONAL);
    let webhook = &mut webhooks[0];
    webhook["name"] = json!(UNCONDITIONAL);
    let validating = validating["webhooks"].as_array().expect("webhooks");
    let rules = validating.iter().flat_map(|one| one["rules"].as_array().expect("rules"));
    webhook["rules"] = rules.cloned().collect();
    webhook["matchConditions"].as_array_mut().expect("conditions").truncate(1);
    webhook["namespaceSelector"] =
        json!({ "matchLabels": { "kubernetes.io/metadata.name": ASKED }});
    configuration["metadata"] = json!({ "name": "zz-unconditional" });
    asked.kubectl(&["create", "-f", "-"], &configuration.to_string()).accepted();
    let metrics = || {
        asked.dry_run(&crate::manifests::daemon_set("probe")).accepted();
        asked.control_plane.kubectl.run(&["get", "--raw", "/metrics"], "").stdout
    };
    let name = format!("name=\"{UNCONDITIONAL}\"");
    becomes("the second webhook to be called", metrics, |it| it.contains(&name));
}

#[derive(Debug, Default)]
struct Tally {
    creates: usize,
    updates: usize,
    patched: usize,
    ignored: usize,
    immutable: usize,
}

/// The changes to recorded objects, in turn, to have something to inject or drop.
const VARIANTS: [fn(&mut Value); 4] = [
    |_| {},
    |object| label(object, "true"),
    |object| {
        if object["kind"] == "StatefulSet" && object["spec"].is_object() {
            object["spec"]["replicas"] = json!(5);
            object["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "maxUnavailable": 2 }});
        }
    },
    |object| label(object, "false"),
];

fn label(object: &mut Value, value: &str) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if labels.is_object() {
            labels["setguard.io/control-plane"] = json!(value);
        }
    }
}

async fn compare_all(client: &Client, namespaces: [&str; 2]) -> Tally {
    let bases: Bases = corpus::bases();
    let mut tally = Tally::default();
    let cases = corpus::cases().into_iter().filter(|case| case.scope == "workload");
    // Every second one, to save time.
    for (i, case) in cases.step_by(2).enumerate() {
        let Some(mut object) = case.object(&bases) else { continue };
        // A generated name differs between the two answers.
        if object["metadata"]["name"].as_str().is_none_or(str::is_empty) {
            continue;
        }
        VARIANTS[i % VARIANTS.len()](&mut object);
        let old = case.old(&bases);
        let [ours, theirs] = namespaces.map(|name| answer(client, name, &object, old.as_ref()));
        let (Some(ours), Some(theirs)) = tokio::join!(ours, theirs) else { continue };
        assert_eq!(ours, theirs, "{}: the second has been sent to /mutate", case.id);
        tally.creates += usize::from(old.is_none());
        tally.updates += usize::from(old.is_some());
        let tolerates = |spec: &Value| spec.to_string().contains("node-role.kubernetes.io/control");
        tally.patched += usize::from(tolerates(&ours.spec) && !tolerates(&object["spec"]));
        let warned = |rule| ours.warnings.iter().any(|warning| warning.contains(rule));
        tally.ignored += usize::from(warned("max-unavailable-ignored: "));
        tally.immutable += usize::from(warned("immutable-field: "));
    }
    tally
}

#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    warnings: Vec<String>,
    spec: Value,
}

async fn answer(
    client: &Client,
    namespace: &str,
    object: &Value,
    old: Option<&Value>,
) -> Option<Answer> {
    let (answer, _) = client::write(client, namespace, object, old).await?;
    let warnings = answer.warnings.iter().map(|it| it.replace(namespace, "NAMESPACE"));
    let mut warnings: Vec<_> = warnings.collect();
    warnings.sort();
    let client::Answer { status, mut object, .. } = answer;
    Some(Answer { status, warnings, spec: object["spec"].take() })
}
