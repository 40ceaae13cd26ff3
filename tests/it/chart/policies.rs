//! Admission policies instead of the server, or in addition.

use setguard::rules::in_cel;

use super::{objects, of, render};
use crate::prelude::*;

fn rendered(mode: &str, release: &str, policy: &Value, more: &[&str]) -> Option<Vec<Value>> {
    let helm = helm::find()?;
    let mut policy = policy.clone();
    if policy["kubernetes"]["version"].is_null() {
        policy["kubernetes"]["version"] = json!(release);
    }
    let (mode, policy) = (format!("mode={mode}"), format!("policy={policy}"));
    let flags = ["--set", &mode, "--set-json", &policy];
    Some(objects(&render(&helm, &[&flags, more].concat())))
}

fn specs(objects: &[Value]) -> BTreeMap<(String, String), Value> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = objects.iter().filter(|it| text(&it["kind"]).contains("AdmissionPolicy"));
    let everything = json!({ "namespaceSelector": {}, "objectSelector": {} });
    let spec = |object: &Value| {
        let mut spec = object["spec"].clone();
        // The chart sets selectors that are the API server's default.
        if spec["matchResources"] == everything {
            spec.as_object_mut().unwrap().remove("matchResources");
        }
        spec
    };
    found.map(|it| ((text(&it["kind"]), text(&it["metadata"]["name"])), spec(it))).collect()
}

fn exported(forms: &[&str], release: &str, policy: &Value) -> BTreeMap<(String, String), Value> {
    let mut file = policy.clone();
    file["apiVersion"] = json!("setguard.io/v1alpha1");
    file["kind"] = json!("Policy");
    let folder = Folder::new([("policy.yaml", &*file.to_string())]);
    let mut found = BTreeMap::new();
    for form in forms {
        let args = ["export", form, "--policy", "policy.yaml", "--kube-version", release];
        let ran = folder.setguard(&args).ends(0);
        found.extend(specs(&objects(&ran.stdout)));
    }
    found
}

fn all(mode: &str) -> Value {
    let rules = in_cel().map(|(rule, _)| (rule.meta.id.to_owned(), json!(mode)));
    json!({ "rules": Value::Object(rules.collect()) })
}

#[test]
fn without_a_server_the_chart_has_what_the_export_prints() {
    let exceptions = json!([
        {"rules": ["surge-host-port", "grace-period-zero"], "namespaces": ["in*", "a.b"],
         "names": ["a.b-*", "*-db"], "reason": "r"},
        {"rules": ["surge-host-port"], "names": ["*"], "reason": "r"},
        {"rules": ["history-limit-zero"], "reason": "all"},
    ]);
    let mixed = json!({ "surge-host-port": "warn", "grace-period-zero": "deny", "claim-unmounted": "off",
        "history-limit-zero": "audit", "unpaired-node-annotation": "deny" });
    let gate = json!({ "featureGates": { "MaxUnavailableStatefulSet": true } });
    let policies = [
        json!({}),
        all("deny"),
        all("warn"),
        all("audit"),
        all("off"),
        json!({ "rules": mixed, "exceptions": exceptions }),
        json!({ "kubernetes": gate }),
        json!({ "exclude": ["vendor/"] }),
    ];
    for release in ["1.36", "1.37"] {
        for policy in &policies {
            let Some(objects) = rendered("policies", release, policy, &[]) else { return };
            let expected = exported(&["vap", "map"], release, policy);
            let found = specs(&objects);
            assert_eq!(
                found.keys().collect::<Vec<_>>(),
                expected.keys().collect::<Vec<_>>(),
                "{policy}"
            );
            for (name, spec) in &expected {
                assert_eq!(&found[name], spec, "{name:?} with {policy}");
            }
        }
    }
    // Versions may have patches and suffixes.
    let policy = json!({ "kubernetes": { "version": "v1.37.2-eks-1" } });
    let Some(objects) = rendered("policies", "1.36", &policy, &[]) else { return };
    assert_eq!(specs(&objects), exported(&["vap", "map"], "1.37", &policy));
    // Older releases have no injection.
    let without = ["--set", "webhook.mutating.enabled=false"];
    let Some(objects) = rendered("policies", "1.34", &json!({}), &without) else { return };
    assert_eq!(specs(&objects), exported(&["vap"], "1.34", &json!({})));
}

#[test]
fn the_export_recognizes_what_the_chart_installs() {
    for (kind, form) in [("Validating", "vap"), ("Mutating", "map")] {
        for name in ["setguard", "guard"] {
            let name = format!("fullnameOverride={name}");
            let Some(mut objects) =
                rendered("policies", "1.37", &json!({}), &["--set", &name, "--no-hooks"])
            else {
                return;
            };
            let check = |objects: &[Value]| {
                let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
                let folder = Folder::new([("installed.yaml", &*list.to_string())]);
                folder.setguard(&["export", form, "--kube-version=1.37", "--check=installed.yaml"])
            };
            check(&objects).ends(0);
            let kind = format!("{kind}AdmissionPolicyBinding");
            let mut bindings = objects.iter_mut().filter(|it| it["kind"] == *kind);
            let binding = bindings.next().unwrap();
            binding["spec"]["matchResources"]["namespaceSelector"] =
                json!({ "matchLabels": { "no": "where" } });
            let name = binding["metadata"]["name"].as_str().unwrap();
            let expected = format!(
                "installed.yaml is not up to date; export again:\n  {kind} {name} has changed\n"
            );
            assert_eq!(check(&objects).ends(1).stdout, expected);
        }
    }
}

#[test]
fn without_a_server_nothing_is_installed_but_policies() {
    let everything = "autoscaling.enabled admissionPolicy.enabled inventory.featureGates \
        metrics.serviceMonitor.enabled metrics.prometheusRule.enabled metrics.dashboard.enabled \
        networkPolicy.restrictEgress priorityClassQuota.enabled";
    let flags: Vec<_> = everything.split(' ').map(|it| format!("--set={it}=true")).collect();
    let more: Vec<&str> = flags.iter().map(String::as_str).collect();
    let Some(objects) = rendered("policies", "1.36", &json!({}), &more) else { return };
    let is_of_test = |it: &&Value| it["metadata"]["annotations"]["helm.sh/hook"] == "test";
    let (tests, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_of_test);
    for object in others {
        let kind = object["kind"].as_str().unwrap();
        assert!(kind.contains("AdmissionPolicy"), "{object:#}");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/name"], "setguard");
    }
    let kinds: BTreeSet<_> = tests.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    let expected = ["NetworkPolicy", "Pod", "Role", "RoleBinding", "ServiceAccount"];
    assert_eq!(kinds, BTreeSet::from(expected));
    let pod = tests.iter().find(|it| it["kind"] == "Pod").unwrap();
    let args = &pod["spec"]["containers"][0]["args"];
    assert_eq!(args, &json!(["probe", "--namespace=guards", "--wait=1m"]));
    let modes =
        ["name-too-long", "selector-on-managed-labels"].map(|it| format!("policy.rules.{it}=warn"));
    let warns = ["--set", &modes[0], "--set", &modes[1]];
    let Some(objects) = rendered("policies", "1.36", &json!({}), &warns) else { return };
    assert!(of(&objects, "Pod")[0].to_string().contains("\"--warned\""));

    // The audit has its own rights and policy.
    let audit = ["--set", "audit.enabled=true"];
    let Some(objects) = rendered("policies", "1.36", &all("audit"), &audit) else { return };
    let [map] = of(&objects, "ConfigMap")[..] else { panic!("one ConfigMap") };
    let job = of(&objects, "CronJob")[0].to_string();
    assert!(job.contains(&map["metadata"]["name"].to_string()), "{job}");
    assert_eq!(of(&objects, "Deployment"), [&json!(null); 0]);
}

#[test]
fn with_both_each_rule_is_reported_once() {
    let exceptions = json!([
        {"rules": ["surge-host-port"], "reason": "r", "expires": "2999-01-01"},
        {"rules": ["grace-period-zero"], "reason": "r"},
    ]);
    let mut policy =
        json!({ "exceptions": exceptions, "limits": [{"deletesClaims": false, "reason": "r"}] });
    policy["rules"] = json!({ "history-limit-zero": "deny", "claim-unmounted": "off" });
    policy["injection"] = json!({ "nodePin": false });
    let known = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";
    let audit = ["--set", "audit.enabled=true", known];
    let Some(objects) = rendered("both", "1.37", &policy, &audit) else { return };
    let maps = of(&objects, "ConfigMap");
    let policy_of = |name: &str| {
        let map = maps.iter().find(|it| it["metadata"]["name"] == name).unwrap();
        Policy::parse(map["data"]["policy.yaml"].as_str().unwrap()).unwrap()
    };
    let (server, audit) = (policy_of("setguard-policy"), policy_of("setguard-audit-policy"));
    assert!(of(&objects, "CronJob")[0].to_string().contains("\"setguard-audit-policy\""));
    let found = specs(&objects);
    assert!(found.keys().all(|(kind, _)| kind.starts_with("Validating")), "other injections");
    let (mut here, mut there) = (0, 0);
    for rule in catalogue::all() {
        let name = format!("{}.setguard.io", rule.meta.id);
        let is_policy = found.keys().any(|(_, it)| *it == name);
        let wanted = audit.mode(&rule.meta);
        if is_policy {
            // A denial is never reported twice, so it stays on during a mode change.
            let (_, cel) = in_cel().find(|(it, _)| it.meta == rule.meta).unwrap();
            // The server itself reports objects that are too large.
            let stays = wanted.as_str() == "deny" || cel.is_about_length();
            let left = if stays { wanted.as_str() } else { "off" };
            assert_eq!(server.mode(&rule.meta).as_str(), left, "{name}");
            assert_ne!(wanted.as_str(), "off", "{name}");
            let is_whole = cel.is_whole() || cel.is_about_length();
            let loses = !is_whole || cel.gate.is_some();
            assert!(!loses || wanted.as_str() == "deny", "{name} would lose something");
            here += 1;
        } else {
            assert_eq!(server.mode(&rule.meta), wanted, "{name}");
            there += 1;
        }
    }
    assert!(here > 20 && there > 25, "{here} {there}");
    let has = |id: &str| found.keys().any(|(_, name)| *name == format!("{id}.setguard.io"));
    assert!(!has("surge-host-port"), "its exception ends");
    assert!(has("grace-period-zero") && has("history-limit-zero") && !has("claim-unmounted"));
    assert_eq!(server.limits.len(), 1);
    let whole = exported(&["vap"], "1.37", &policy);
    assert!(found.iter().all(|(name, spec)| whole[name] == *spec));

    // With both, the policies refuse and inject the same as alone, because the server may not be ready yet, or may be
    // down.
    let Some(alone) = rendered("policies", "1.37", &all("deny"), &[]) else { return };
    let Some(both) = rendered("both", "1.37", &all("deny"), &[known]) else { return };
    let (mut alone, both) = (specs(&alone), specs(&both));
    // The server warns.
    alone.retain(|(_, name), _| {
        !name.contains(".had-before.") && name != "unpaired-node-annotation.setguard.io"
    });
    assert_eq!(alone, both);
    let Some(unknown) = rendered("both", "1.37", &all("deny"), &[]) else { return };
    assert!(specs(&unknown).keys().all(|(kind, _)| kind.starts_with("Validating")));
}

#[test]
fn policies_select_what_the_webhooks_select() {
    let more = [
        r#"webhook.excludedNamespaces=["os-*", "lab"]"#,
        r#"webhook.namespaceSelector={"matchLabels": {"team": "a"}}"#,
        r#"webhook.objectSelector={"matchLabels": {"checked": "yes"}}"#,
        r#"webhook.matchConditions=[{"name": "mine", "expression": "true"}]"#,
        r#"webhook.validating.matchConditions=[{"name": "sets", "expression": "true"}]"#,
        r#"webhook.validating.exemptUsers=["jane"]"#,
        r#"webhook.mutating.pods.matchConditions=[{"name": "pods", "expression": "true"}]"#,
        r#"webhook.mutating.reinvocationPolicy="Never""#,
        "webhook.mutating.controlPlane.enabled=false",
    ];
    let more: Vec<&str> = more.iter().flat_map(|flag| ["--set-json", flag]).collect();
    let Some(objects) = rendered("policies", "1.36", &json!({}), &more) else { return };
    let found = specs(&objects);
    let selected = json!({
        "namespaceSelector": {
            "matchLabels": {"team": "a"},
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["lab"]},
            ],
        },
        "objectSelector": {"matchLabels": {"checked": "yes"}},
    });
    let conditions = |(kind, name): (&str, &str)| {
        let spec = &found[&(kind.to_owned(), name.to_owned())];
        let names =
            spec["matchConditions"].as_array().unwrap().iter().map(|it| it["name"].as_str());
        names.map(Option::unwrap).collect::<Vec<_>>()
    };
    let sets = ["not-by-exempt-users", "sets", "not-in-excluded-namespaces", "mine"];
    assert_eq!(conditions(("ValidatingAdmissionPolicy", "surge-host-port.setguard.io")), sets);
    let pods = "daemon paired-controller few-tolerations pods not-in-excluded-namespaces mine";
    let tolerations = ("MutatingAdmissionPolicy", "daemon-tolerations.setguard.io");
    assert_eq!(conditions(tolerations).join(" "), pods);
    for ((kind, name), spec) in &found {
        if kind.ends_with("Binding") {
            assert_eq!(spec["matchResources"], selected, "{name}");
        } else if kind.starts_with("Mutating") {
            assert_eq!(spec["reinvocationPolicy"], "Never", "{name}");
        }
        assert!(!name.starts_with("control-plane-tolerations.namespace"), "{name}");
    }
    let Some(objects) =
        rendered("policies", "1.36", &json!({}), &["--set", "webhook.validating.enabled=false"])
    else {
        return;
    };
    let left: BTreeSet<_> = specs(&objects).into_keys().map(|(_, name)| name).collect();
    assert_eq!(left.len(), 6, "only injection: {left:?}");
}

#[test]
fn without_a_release_policies_are_those_of_the_newest() {
    let Some(helm) = helm::find() else { return };
    // Without a version, the export uses the newest release.
    let newest = exported(&["vap", "map"], "1.37", &json!({}));
    assert_eq!(specs(&objects(&render(&helm, &["--set", "mode=policies"]))), newest);
    let of_default = render(&helm, &["--set-json", "mode=null"]);
    assert_eq!(of_default, render(&helm, &[]));
}
