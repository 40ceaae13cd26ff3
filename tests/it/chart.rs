//! The Helm chart as Helm renders it. These tests need a `helm` in `HELM`, in PATH or where
//! `.ci/run` puts it; without one they print a message and are skipped.

mod arming;
mod audit;
mod clouds;
mod commands;
mod dashboard;
mod exempt;
mod objects;
mod options;
mod pods;
mod policies;
mod policy;
pub(crate) mod readme;
mod rights;
mod system;
mod values;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use setguard::{
    kubernetes::cluster::Version,
    live::{InventoryArgs, Live, Mode},
    policy::Policy,
    server::{metrics::Metrics, webhooks::registrations},
};

use crate::{helm, support};

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard")
}

fn template(helm: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(helm);
    command.args(["template", "setguard"]).arg(chart()).args(["--namespace", "guards"]).args(flags);
    command.output().unwrap()
}

/// The chart, rendered with these flags.
fn render(helm: &Path, flags: &[&str]) -> String {
    let output = template(helm, flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn objects(text: &str) -> Vec<Value> {
    let documents = support::to_json(text);
    let objects = documents.iter().map(|json| serde_json::from_str(json).unwrap());
    objects.filter(|object: &Value| !object.is_null()).collect()
}

/// The objects of a kind.
fn of<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// The value files in `ci/`, which together set nearly every value, and those for platforms.
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

/// Renders the chart with each value file and runs a test on the objects and the text.
fn each(test: impl Fn(&str, &[Value], &str)) {
    let Some(helm) = helm::find() else { return };
    for file in value_files() {
        let text = render(&helm, &["--values", &file]);
        test(&file, &objects(&text), &text);
    }
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

/// The Deployment, rendered with these flags.
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
    // The scheduler skips nodes that lack the label of any constraint.
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

/// Both webhook configurations.
fn configurations(objects: &[Value]) -> [&Value; 2] {
    ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"].map(|kind| {
        let [configuration] = of(objects, kind)[..] else { panic!("one {kind}") };
        configuration
    })
}

/// The webhooks of all configurations.
fn webhooks(objects: &[Value]) -> Vec<&Value> {
    let all = configurations(objects).into_iter();
    all.flat_map(|configuration| configuration["webhooks"].as_array().unwrap()).collect()
}

#[test]
fn each_registration_in_the_code_is_in_the_webhook_configurations() {
    let Some(helm) = helm::find() else { return };
    let always = ["--set", "webhook.arm=atOnce", "--set", "webhook.validating.scale=always"];
    let objects = objects(&render(&helm, &always));
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

    // The webhooks that are called in a namespace.
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
    each(|file, objects, _| {
        let [deployment] = of(objects, "Deployment")[..] else { panic!("{file}: one Deployment") };
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
            // Hooks and the audit have policies of their own.
            "NetworkPolicy" if object["metadata"]["name"] == deployment["metadata"]["name"] => {
                Some(&object["spec"]["podSelector"])
            }
            _ => None,
        });
        let hooks = objects.iter().filter_map(|object| match object["kind"].as_str()? {
            "Pod" => Some(&object["metadata"]["labels"]),
            "Job" => Some(&object["spec"]["template"]["metadata"]["labels"]),
            _ => None,
        });
        let hooks: Vec<&Value> = hooks.collect();
        for selector in selectors.into_iter().chain(of_others) {
            assert!(selects(selector, labels), "{file}: {selector}");
            assert!(!hooks.iter().any(|labels| selects(selector, labels)), "{file}: a hook's pod");
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

/// `--help` comes last: the flags before it are parsed, but nothing is served.
#[test]
fn the_program_accepts_the_flags_in_the_deployment() {
    each(|file, objects, _| {
        let [deployment] = of(objects, "Deployment")[..] else { panic!("{file}: one Deployment") };
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

fn accepts<'a>(file: &str, args: impl Iterator<Item = &'a str>) {
    let program = env!("CARGO_BIN_EXE_setguard");
    let output = Command::new(program).args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn roles_name_their_objects_and_have_no_wildcards() {
    each(|file, objects, _| {
        for role in of(objects, "ClusterRole").into_iter().chain(of(objects, "Role")) {
            for rule in role["rules"].as_array().unwrap() {
                assert!(!rule.to_string().contains('*'), "{file}: {rule}");
                if is_inventory(role) {
                    only_reads(rule);
                    continue;
                }
                if is_audit(role) {
                    continue;
                }
                let named = rule["resourceNames"].as_array().is_some_and(|names| !names.is_empty());
                assert!(named, "{file}: {rule}");
            }
        }
        let [deployment] = of(objects, "Deployment")[..] else { panic!("{file}: one Deployment") };
        let managed = deployment.to_string().contains("--tls-managed");
        let arms = deployment.to_string().contains("--arm-webhooks");
        let sees = !deployment.to_string().contains("--inventory=off");
        let token = &deployment["spec"]["template"]["spec"]["automountServiceAccountToken"];
        assert_eq!(*token, managed || sees || arms, "{file}: a token only where it is needed");
        let is_hook = |role: &Value| role["metadata"]["annotations"]["helm.sh/hook"].is_string();
        let mut lasting = of(objects, "ClusterRole").into_iter().filter(|role| !is_hook(role));
        let others = lasting.any(|role| !is_inventory(role) && !is_audit(role));
        assert_eq!(
            others,
            managed || arms,
            "{file}: an object alone is checked without permissions"
        );
        let mut roles = objects.iter().filter(|it| it["kind"].as_str().unwrap().ends_with("Role"));
        assert_eq!(roles.any(is_inventory), sees, "{file}: what is seen must be readable");
    });
}

/// Helm deletes the Secret of managed certificates when the mode changes; no other object may own
/// it.
#[test]
fn each_mode_has_a_secret_of_its_own() {
    let Some(helm) = helm::find() else { return };
    let names = |mode: &str| {
        let objects = objects(&render(&helm, &["--set", &format!("tls.mode={mode}")]));
        let certificates = of(&objects, "Certificate").into_iter();
        let requested = certificates.map(|certificate| certificate["spec"]["secretName"].clone());
        let own = of(&objects, "Secret").into_iter().map(|it| it["metadata"]["name"].clone());
        own.chain(requested).collect::<Vec<_>>()
    };
    let (managed, requested) = (names("managed"), names("certManager"));
    assert_eq!(managed, ["setguard-tls"]);
    assert_eq!(requested, ["setguard-ca", "setguard-cert-manager-tls"]);
}

fn is_inventory(role: &Value) -> bool {
    role["metadata"]["name"].as_str().unwrap().ends_with("-inventory")
}

/// `audit.rs` has its rights.
fn is_audit(role: &Value) -> bool {
    role["metadata"]["name"].as_str().unwrap().ends_with("-audit")
}

/// A rule of the inventory reads what rules need, and never Pods, ReplicaSets, Secrets or ConfigMaps.
fn only_reads(rule: &Value) {
    if rule["nonResourceURLs"] == json!(["/metrics"]) {
        assert_eq!(rule["verbs"], json!(["get"]));
        return;
    }
    assert_eq!(rule["verbs"], json!(["list", "watch"]), "{rule}");
    let known = [
        "daemonsets",
        "deployments",
        "namespaces",
        "nodes",
        "poddisruptionbudgets",
        "priorityclasses",
        "services",
        "statefulsets",
        "storageclasses",
    ];
    for resource in rule["resources"].as_array().unwrap() {
        assert!(known.contains(&resource.as_str().unwrap()), "{rule}");
    }
}

/// The resources that the roles of the inventory allow to be read, each with the role's namespace.
fn readable(objects: &[Value]) -> BTreeSet<String> {
    let roles = objects.iter().filter(|it| it["kind"].as_str().unwrap().ends_with("Role"));
    let resources = roles.filter(|role| is_inventory(role)).flat_map(|role| {
        let place = role["metadata"]["namespace"].as_str().unwrap_or("*");
        let rules = role["rules"].as_array().unwrap().iter();
        let resources = rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
        resources.map(move |it| format!("{place}/{}", it.as_str().unwrap()))
    });
    resources.collect()
}

#[test]
fn what_the_inventory_may_read_follows_its_mode() {
    let Some(helm) = helm::find() else { return };
    let readable = |flags: &str| readable(&objects(&render(&helm, &["--set", flags])));
    let workloads = readable("inventory.mode=workloads");
    assert_eq!(workloads.len(), 7, "{workloads:?}");
    let full = readable("inventory.mode=full");
    let more: Vec<_> = full.difference(&workloads).collect();
    assert_eq!(more, ["*/deployments", "*/nodes"]);
    assert!(readable("inventory.mode=off").is_empty());
    let some =
        readable("inventory.mode=full,inventory.namespaces[0]=shop,inventory.namespaces[1]=db");
    let sets = ["daemonsets", "deployments", "poddisruptionbudgets", "services", "statefulsets"];
    let expected = ["db", "shop"].into_iter().flat_map(|ns| sets.map(|it| format!("{ns}/{it}")));
    assert_eq!(some, expected.collect());
}

#[test]
fn without_a_need_for_the_api_server_nothing_may_leave_the_pod() {
    let Some(helm) = helm::find() else { return };
    let egress = |flags: &str| {
        let flags = format!("networkPolicy.restrictEgress=true,{flags}");
        let objects = objects(&render(&helm, &["--set", &flags]));
        of(&objects, "NetworkPolicy")[0]["spec"]["egress"].as_array().unwrap().len()
    };
    let at_once = |flags: &str| egress(&format!("webhook.arm=atOnce,{flags}"));
    assert_eq!(at_once("tls.mode=certManager,inventory.mode=off"), 0);
    assert_eq!(at_once("tls.mode=certManager"), 1);
    assert_eq!(at_once("inventory.mode=off"), 1);
    assert_eq!(egress("tls.mode=certManager,inventory.mode=off"), 1);
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
    let types = Metrics::with_view(&Live::new(&view)).encode();
    // These are in the file of `setguard audit --metrics-file`.
    let of_audit = ["findings", "last_success_timestamp_seconds", "duration_seconds"];
    for name in of_audit {
        assert!(asked.remove(&format!("setguard_audit_{name}")), "no alert uses {name}");
    }
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
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/alerts.md");
    let docs = fs::read_to_string(docs).unwrap();
    let sections: Vec<&str> = docs.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let names: Vec<&str> = alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(&sections), BTreeSet::from_iter(&names));
    for alert in alerts {
        // As GitHub and mdBook make anchors of headings.
        let anchor = alert["alert"].as_str().unwrap().to_lowercase();
        let url = alert["annotations"]["runbook_url"].as_str().unwrap();
        assert!(url.ends_with(&format!("/docs/alerts.md#{anchor}")), "{url}");
        for text in ["summary", "description", "runbook"] {
            assert!(alert["annotations"][text].is_string(), "{alert}");
        }
    }
}

#[test]
fn errors_name_the_wrong_value() {
    let Some(helm) = helm::find() else { return };
    for (flags, expected) in [
        (&["--set", "replicas=2"][..], "replicas"),
        (&["--set", "webhook.timeoutSeconds=60"], "timeoutSeconds"),
        (&["--set", "webhook.validating.failurePolicy=Maybe"], "failurePolicy"),
        (&["--set", "policy.rules.surge-host-port=forbid"], "surge-host-port"),
        (&["--set", "policy.exeptions=[]"], "exeptions"),
        (&["--set", "tls.mode=secret"], "tls.secretName"),
        (&["--set", "tls.mode=secret,tls.secretName=a"], "tls.caBundle"),
        (&["--set", "tls.caBundle=a"], "tls.caBundle"),
        (&["--set", "tls.mode=secret,tls.secretName=a,tls.caBundle=bm8gUEVN"], "tls.caBundle"),
        (
            &["--set", "tls.mode=secret,tls.secretName=a,webhook.annotations.owner=team"],
            "tls.caBundle",
        ),
        (&["--set", "listen.port=8080"], "listen.adminPort"),
        (&["--set", "webhook.url=http://localhost"], "webhook.url"),
        (&["--set", "inventory.mode=everything"], "inventory/mode"),
        (&["--set", "inventory.namespaces[0]=a/b"], "inventory/namespaces"),
        (&["--set", "terminationGracePeriodSeconds=20"], "terminationGracePeriodSeconds"),
    ] {
        let output = template(&helm, flags);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{flags:?} is accepted");
        assert!(stderr.contains(expected), "{flags:?}: {stderr}");
    }
}

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

/// The chart, the program and the end-to-end tests begin with the same release of Kubernetes.
#[test]
fn the_oldest_kubernetes_is_the_same_everywhere() {
    let read =
        |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let oldest = Version::OLDEST;
    let chart = read("charts/setguard/Chart.yaml");
    assert!(chart.contains(&format!("\nkubeVersion: \">={oldest}.0-0\"\n")));
    let operations = read("docs/operations.md");
    assert!(operations.contains(&format!("Kubernetes {oldest} or newer")));
    let workflow = read(".github/workflows/test.yaml");
    let first = workflow.lines().find(|line| line.contains("- { kubernetes: "));
    assert!(first.unwrap().contains(&format!("kubernetes: \"{oldest}\",")), "{first:?}");
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

    // Kubernetes documents what is below these fields.
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

/// Objects for which the schema lists properties must not allow others.
fn closed(schema: &Value, path: &str) {
    if let Some(properties) = schema["properties"].as_object() {
        assert_eq!(schema["additionalProperties"], false, "{path}");
        for (key, value) in properties {
            closed(value, &format!("{path}.{key}"));
        }
    }
}

/// A rendering must not depend on the cluster or on random values: GitOps tools have no cluster and
/// expect the same result every time.
#[test]
fn templates_use_neither_the_cluster_nor_random_values() {
    let mut folders = vec![chart().join("templates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let forbidden = [
                "lookup ",
                "genCA",
                "genSelfSignedCert",
                "genSignedCert",
                "genPrivateKey",
                "rand",
                "uuidv4",
                "now ",
                ".Release.IsUpgrade",
                ".Release.Revision",
                ".Capabilities",
            ];
            let actions = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            for action in actions.filter(|action| !action.contains("/*")) {
                for word in forbidden {
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
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("Dockerfile");
    let dockerfile = fs::read_to_string(dockerfile).unwrap();
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
