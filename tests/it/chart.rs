//! The Helm chart as Helm renders it. These tests need a `helm` in `HELM`, in PATH or at the path of `.ci/run`;
//! without one they print a message and skip.

mod arming;
mod audit;
mod clouds;
mod dashboard;
mod gitops;
mod objects;
mod options;
mod pods;
mod policies;
mod policy;
pub(crate) mod readme;
mod release;
mod roles;
mod system;
mod values;

use setguard::{
    live::{InventoryArgs, Live, Mode},
    server::{metrics::Metrics, webhooks::registrations},
};

use crate::prelude::*;

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard")
}

fn template(helm: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(helm);
    command.args(["template", "setguard"]).arg(chart()).args(["--namespace", "guards"]).args(flags);
    command.output().unwrap()
}

fn render(helm: &Path, flags: &[&str]) -> String {
    let output = template(helm, flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// `None` without Helm.
fn rendered(flags: &[&str]) -> Option<Vec<Value>> {
    Some(objects(&render(&helm::find()?, flags)))
}

#[track_caller]
fn refuses(helm: &Path, flags: &[&str], message: &str) {
    let output = template(helm, flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(message), "{flags:?}: {stderr}");
}

fn objects(text: &str) -> Vec<Value> {
    let documents = support::to_json(text);
    let objects = documents.iter().map(|json| serde_json::from_str(json).unwrap());
    objects.filter(|object: &Value| !object.is_null()).collect()
}

fn of<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let all = of(objects, kind).into_iter().filter(|it| it["metadata"]["name"] == name);
    let [one] = all.collect::<Vec<_>>()[..] else { panic!("one {kind} {name}") };
    one
}

fn container(objects: &[Value]) -> &Value {
    &of(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]
}

fn value_files() -> Vec<String> {
    let entries = ["ci", "clouds"].map(|folder| fs::read_dir(chart().join(folder)).unwrap());
    let mut paths: Vec<String> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    paths.sort();
    assert!(paths.len() > 3);
    paths
}

fn each(test: impl Fn(&str, &[Value], &str)) {
    let Some(helm) = helm::find() else { return };
    for file in value_files() {
        let text = render(&helm, &["--values", &file]);
        test(&file, &objects(&text), &text);
    }
}

fn each_with_server(test: impl Fn(&str, &[Value], &Value)) {
    each(|file, objects, _| match of(objects, "Deployment")[..] {
        [deployment] => test(file, objects, deployment),
        [] => assert!(file.ends_with("policies-values.yaml"), "{file}: a Deployment"),
        _ => panic!("{file}: one Deployment"),
    });
}

#[test]
fn the_same_values_give_the_same_bytes() {
    let Some(helm) = helm::find() else { return };
    for file in value_files() {
        let render = |more: &[&str]| render(&helm, &[&["--values", &file], more].concat());
        let install = render(&[]);
        assert_eq!(install, render(&[]), "{file}");
        assert_eq!(install, render(&["--is-upgrade"]), "{file}: an upgrade changes nothing");
    }
}

fn deployment(helm: &Path, flags: &[&str]) -> Value {
    let objects = objects(&render(helm, flags));
    let [deployment] = of(&objects, "Deployment")[..] else { panic!("one Deployment") };
    deployment.clone()
}

#[test]
fn replicas_spread_on_nodes_without_zones_too() {
    let Some(helm) = helm::find() else { return };
    let pod = |flags: &[&str]| deployment(&helm, flags)["spec"]["template"]["spec"].clone();
    let spec = pod(&[]);
    // The scheduler skips nodes without the label of any constraint.
    let [constraint] = &spec["topologySpreadConstraints"].as_array().unwrap()[..] else {
        panic!("{spec:#}")
    };
    assert_eq!(constraint["topologyKey"], "kubernetes.io/hostname");
    let preferred = "/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    let zone = format!("{preferred}/0/podAffinityTerm/topologyKey");
    assert_eq!(spec.pointer(&zone).unwrap(), "topology.kubernetes.io/zone");
    assert_eq!(pod(&["--set", "spread.enabled=false"])["affinity"], Value::Null);
    let own = pod(&["--set-json", r#"affinity={"nodeAffinity":{}}"#]);
    assert_eq!(own["affinity"], json!({"nodeAffinity": {}}));
}

#[test]
fn a_rollout_does_not_need_a_port_of_the_node_twice() {
    let Some(helm) = helm::find() else { return };
    let render = |flags: &[&str]| deployment(&helm, flags)["spec"].clone();
    let rolling = |surge, unavailable| {
        json!({"type": "RollingUpdate",
               "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
    };
    let (pods, host) = (render(&[]), render(&["--set", "hostNetwork=true"]));
    assert_eq!(pods["strategy"], rolling(1, 0));
    assert_eq!(pods["template"]["spec"]["dnsPolicy"], Value::Null);
    assert_eq!(host["strategy"], rolling(0, 1));
    assert_eq!(host["template"]["spec"]["dnsPolicy"], "ClusterFirstWithHostNet");
    let recreate = render(&["--set", "updateStrategy.type=Recreate"]);
    assert_eq!(recreate["strategy"], json!({"type": "Recreate"}));
    let own = render(&["--set", "updateStrategy.rollingUpdate.maxSurge=2"]);
    assert_eq!(own["strategy"]["rollingUpdate"], json!({"maxSurge": 2}));
}

#[test]
fn the_policy_in_the_config_map_is_valid() {
    each(|file, objects, _| {
        for map in of(objects, "ConfigMap") {
            if let Some(text) = map["data"]["policy.yaml"].as_str() {
                let policy = Policy::parse(text);
                assert!(policy.is_ok(), "{file}: {:?}", policy.err());
            }
        }
    });
}

fn configurations(objects: &[Value]) -> [&Value; 2] {
    ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"].map(|kind| {
        let [configuration] = of(objects, kind)[..] else { panic!("one {kind}") };
        configuration
    })
}

fn webhooks(objects: &[Value]) -> Vec<&Value> {
    let all = configurations(objects).into_iter();
    all.flat_map(|configuration| configuration["webhooks"].as_array().unwrap()).collect()
}

#[test]
fn each_registration_in_the_code_is_in_the_webhook_configurations() {
    let always = ["--set", "webhook.arm=atOnce", "--set", "webhook.validating.scale=always"];
    let Some(objects) = rendered(&always) else { return };
    let webhooks = webhooks(&objects);
    for webhook in &webhooks {
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["matchPolicy"], "Equivalent");
        assert_eq!(webhook["timeoutSeconds"], 5);
    }
    let find = |name: &str| webhooks.iter().find(|webhook| webhook["name"] == name).unwrap();
    for registration in registrations() {
        let webhook = find(registration.name);
        assert_eq!(webhook["rules"], serde_json::to_value(registration.rules).unwrap());
        let conditions = Some(registration.match_conditions).filter(|it| !it.is_empty());
        assert_eq!(webhook["matchConditions"], serde_json::to_value(conditions).unwrap());
        assert_eq!(webhook["clientConfig"]["service"]["path"], registration.path);
        for (key, value) in registration.namespace_labels {
            assert_eq!(webhook["namespaceSelector"]["matchLabels"][key], value);
        }
        for (key, value) in registration.object_labels {
            assert_eq!(webhook["objectSelector"]["matchLabels"][key], value);
        }
        let policy = if registration.path == "/validate" { "Fail" } else { "Ignore" };
        assert_eq!(webhook["failurePolicy"], policy, "{}", registration.name);
    }
    let system = find("system.validate.setguard.io");
    assert_eq!(system["failurePolicy"], "Ignore");
    let rules = |name: &str| find(name)["rules"].as_array().unwrap().clone();
    let (updates, creations) = ("validate.setguard.io", "create.validate.setguard.io");
    let scale = "scale.validate.setguard.io";
    assert_eq!(system["rules"], json!([rules(updates), rules(creations)].concat()));
    assert_eq!(webhooks.len(), registrations().len() + 1);

    // The webhooks that the API server calls in a namespace.
    let asked = |namespace: &str| -> Vec<&str> {
        let labels = json!({"kubernetes.io/metadata.name": namespace});
        let asked = webhooks.iter().filter(|w| selects(&w["namespaceSelector"], &labels));
        asked.map(|webhook| webhook["name"].as_str().unwrap()).collect()
    };
    let mutating =
        ["pods", "workloads", "labelled"].map(|name| format!("{name}.mutate.setguard.io"));
    let mutating = mutating.each_ref().map(String::as_str);
    assert_eq!(asked("shop"), [&[updates, creations, scale], &mutating[..]].concat());
    assert_eq!(asked("kube-system"), [&["system.validate.setguard.io"], &mutating[..]].concat());
    assert!(asked("guards").is_empty(), "its own namespace");
}

/// Helm and the API server's metrics distinguish two releases only by the names of their objects.
#[test]
fn two_releases_share_no_name() {
    let Some(helm) = helm::find() else { return };
    let flags = ["--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"];
    for mode in ["webhook", "policies", "both"] {
        let mode = format!("--set=mode={mode},admissionPolicy.enabled=true,audit.enabled=true");
        let names = |other: &[&str]| -> BTreeSet<String> {
            let objects = objects(&render(&helm, &[&flags[..], &[&mode], other].concat()));
            let entries = objects.iter().filter_map(|it| it["webhooks"].as_array()).flatten();
            let all = objects.iter().map(|it| (&it["kind"], &it["metadata"]["name"]));
            let all = all.chain(entries.map(|it| (&it["sideEffects"], &it["name"])));
            all.map(|(kind, name)| format!("{kind} {name}")).collect()
        };
        let (one, two) = (names(&[]), names(&["--set=fullnameOverride=guard"]));
        assert!(one.len() > 20, "{one:?}");
        assert!(one.is_disjoint(&two), "{mode}: {:?}", one.intersection(&two));
        let is_qualified =
            |it: &&String| !it.contains(".setguard.io") || it.contains(".guard.setguard.io");
        assert!(two.iter().all(|it| is_qualified(&it)), "{two:?}");
    }
}

#[test]
fn writes_of_the_scale_are_sent_if_a_limit_needs_them() {
    let Some(helm) = helm::find() else { return };
    let limit = "policy.limits[0].reason=agreed,policy.limits[0].";
    let forbids = format!("{limit}deletesClaims=false");
    let allows = format!("{limit}replacesAll=false");
    let scale = "webhook.validating.scale";
    for (values, is_sent) in [
        (vec![], false),
        (vec!["policy=null".to_owned()], false),
        (vec![forbids.clone()], true),
        (vec![allows.clone()], false),
        (vec![forbids, format!("{scale}=never")], false),
        (vec![allows, format!("{scale}=always")], true),
    ] {
        let flags = values.iter().flat_map(|value| ["--set", value]).collect::<Vec<_>>();
        let objects = objects(&render(&helm, &flags));
        let webhooks = webhooks(&objects);
        let found = webhooks.iter().any(|it| it["name"] == "scale.validate.setguard.io");
        assert_eq!(found, is_sent, "{values:?}");
    }
}

/// Kubernetes: `LabelSelectorAsSelector`, for the two operators that the chart uses.
fn selects(selector: &Value, labels: &Value) -> bool {
    let all = selector["matchExpressions"].as_array().into_iter().flatten().all(|requirement| {
        let value = &labels[requirement["key"].as_str().unwrap()];
        let within = requirement["values"].as_array().unwrap().contains(value);
        within == (requirement["operator"] == "In")
    });
    let mut pairs = selector["matchLabels"].as_object().into_iter().flatten();
    all && pairs.all(|(key, value)| labels[key] == *value)
}

#[test]
fn ports_probes_and_selectors_fit_each_other() {
    each_with_server(|file, objects, deployment| {
        let [service] = of(objects, "Service")[..] else { panic!("{file}: one Service") };
        let template = &deployment["spec"]["template"];
        let container = &template["spec"]["containers"][0];
        let ports: Vec<&str> = container["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port["name"].as_str().unwrap())
            .collect();
        for port in service["spec"]["ports"].as_array().unwrap() {
            assert!(ports.contains(&port["targetPort"].as_str().unwrap()), "{file}: {port}");
        }
        for (probe, path) in
            [("startupProbe", "/livez"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")]
        {
            assert_eq!(container[probe]["httpGet"]["path"], path, "{file}");
            assert_eq!(container[probe]["httpGet"]["port"], "admin", "{file}");
        }
        let labels = &template["metadata"]["labels"];
        let selectors =
            [&deployment["spec"]["selector"], &json!({"matchLabels": service["spec"]["selector"]})];
        let of_others = objects.iter().filter_map(|object| match object["kind"].as_str()? {
            "PodDisruptionBudget" => Some(&object["spec"]["selector"]),
            // Hooks and the audit have their own NetworkPolicies.
            "NetworkPolicy" if object["metadata"]["name"] == deployment["metadata"]["name"] => {
                Some(&object["spec"]["podSelector"])
            }
            _ => None,
        });
        let hooks = pods::of(objects, &["Pod", "Job"]);
        for selector in selectors.into_iter().chain(of_others) {
            assert!(selects(selector, labels), "{file}: {selector}");
            assert!(
                !hooks.iter().any(|it| selects(selector, &it["metadata"]["labels"])),
                "{file}: a hook's pod"
            );
        }
        let seconds = |flag: &str| -> u64 {
            let args = container["args"].as_array().unwrap().iter();
            let mut values = args.filter_map(|arg| arg.as_str()?.strip_prefix(flag));
            values.next().unwrap().trim_end_matches('s').parse().unwrap()
        };
        let grace = template["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace > seconds("--drain-delay=") + seconds("--grace-period="), "{file}");
    });
}

fn accepts<'a>(file: &str, args: impl Iterator<Item = &'a str>) {
    let program = env!("CARGO_BIN_EXE_setguard");
    let output = Command::new(program).args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
}

/// With `--help` last, setguard parses the other flags but serves nothing.
#[test]
fn the_program_accepts_the_flags_in_the_deployment() {
    each_with_server(|file, objects, deployment| {
        let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        let args = args.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        accepts(file, args);
        for job in of(objects, "CronJob") {
            let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            let args = pod["containers"][0]["args"].as_array().unwrap();
            accepts(file, args.iter().map(|arg| arg.as_str().unwrap()));
        }
    });
}

#[test]
fn alerts_and_dashboard_use_only_existing_metrics() {
    let Some(helm) = helm::find() else { return };
    let all = ["cert-manager", "audit"].map(|name| chart().join(format!("ci/{name}-values.yaml")));
    let mut flags: Vec<&str> =
        all.iter().flat_map(|file| ["--values", file.to_str().unwrap()]).collect();
    // Managed certificates have their own alerts.
    flags.extend(["--set", "tls.mode=managed,metrics.serviceMonitor.enabled=false"]);
    let objects = objects(&render(&helm, &flags));
    let [rule] = of(&objects, "PrometheusRule")[..] else { panic!("one PrometheusRule") };
    let dashboards = of(&objects, "ConfigMap").into_iter();
    let dashboard = dashboards.filter_map(|map| map["data"]["setguard.json"].as_str()).next();
    let dashboard: Value = serde_json::from_str(dashboard.unwrap()).unwrap();
    let mut asked: BTreeSet<String> = BTreeSet::new();
    for text in [rule.to_string(), dashboard["panels"].to_string()] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        asked.extend(words.filter(|word| word.starts_with("setguard_")).map(str::to_owned));
    }
    assert!(asked.len() > 5, "{asked:?}");
    let view = InventoryArgs { inventory: Mode::Full, ..InventoryArgs::default() };
    let metrics = Metrics::with_view(&Live::new(&view));
    // A metric with labels appears with its first value, here from an answer with a finding.
    let review = review("mutate/pod-pinned-elsewhere-denied");
    let policy = Policy::default();
    let cx = Context::of_review(&policy, jiff::civil::date(2026, 1, 1));
    let answer = admission::answer(Endpoint::Mutate, review.as_bytes(), &cx).unwrap();
    metrics.answered(Endpoint::Mutate, &answer.record, Duration::ZERO);
    let types = metrics.encode();
    // These are in the file of `setguard audit --metrics-file`.
    let of_audit = ["findings", "last_success_timestamp_seconds", "duration_seconds"];
    for name in of_audit {
        assert!(asked.remove(&format!("setguard_audit_{name}")), "no alert uses {name}");
    }
    // No value exists before the first list of a kind; tests/it/live.rs tests this metric.
    assert!(asked.remove("setguard_inventory_stale_seconds"));
    for name in asked {
        // OpenMetrics names the metric family; counters, histograms and info metrics add a suffix.
        let (family, kind) = if let Some(family) = name.strip_suffix("_total") {
            (family, "counter")
        } else if let Some(family) = name.strip_suffix("_bucket") {
            (family, "histogram")
        } else if let Some(family) = name.strip_suffix("_info") {
            (family, "info")
        } else {
            (&*name, "gauge")
        };
        assert!(types.contains(&format!("# TYPE {family} {kind}\n")), "there is no metric {name}");
    }
    let alerts = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    let docs = support::read("docs/troubleshooting.md");
    let sections: Vec<&str> = docs.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let names: Vec<&str> = alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(&sections), BTreeSet::from_iter(&names));
    for alert in alerts {
        // The heading anchors of GitHub and mdBook.
        let anchor = alert["alert"].as_str().unwrap().to_lowercase();
        let url = alert["annotations"]["runbook_url"].as_str().unwrap();
        assert!(url.ends_with(&format!("/docs/troubleshooting.md#{anchor}")), "{url}");
        for text in ["summary", "description", "runbook"] {
            assert!(alert["annotations"][text].is_string(), "{alert}");
        }
    }
}
