//! The permissions of the service account.

use super::{each, each_with_server, objects, of, render};
use crate::prelude::*;

#[test]
fn roles_name_their_objects_and_have_no_wildcards() {
    each(|file, objects, _| {
        let is_test = |role: &&Value| role["metadata"]["annotations"]["helm.sh/hook"] == "test";
        // Only an explicitly enabled test may try to create sets, in the release's namespace.
        for role in of(objects, "Role").into_iter().filter(is_test) {
            let rules =
                json!([{"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["create"]}]);
            assert_eq!(role["rules"], rules, "{file}");
        }
        let lasting = of(objects, "Role").into_iter().filter(|role| !is_test(role));
        for role in of(objects, "ClusterRole").into_iter().chain(lasting) {
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
    });
    each_with_server(|file, objects, deployment| {
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

/// Helm deletes the Secret of managed certificates when the mode changes; no other object may own it.
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

/// `audit.rs` checks its rights.
fn is_audit(role: &Value) -> bool {
    role["metadata"]["name"].as_str().unwrap().ends_with("-audit")
}

/// An inventory rule reads what rules need, and never Pods, ReplicaSets, Secrets or ConfigMaps.
fn only_reads(rule: &Value) {
    if rule["nonResourceURLs"] == json!(["/metrics"]) {
        assert_eq!(rule["verbs"], json!(["get"]));
        return;
    }
    assert_eq!(rule["verbs"], json!(["list", "watch"]), "{rule}");
    let known = "daemonsets deployments namespaces nodes poddisruptionbudgets priorityclasses services \
        statefulsets storageclasses";
    for resource in rule["resources"].as_array().unwrap() {
        assert!(known.split(' ').any(|it| resource == it), "{rule}");
    }
}

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

fn rows() -> Vec<String> {
    let page = support::read("docs/security.md");
    let (_, section) = page.split_once("\n## What setguard's account can do\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    section.lines().filter(|line| line.starts_with('|')).map(str::to_lowercase).collect()
}

fn word(resource: &str) -> &str {
    match resource {
        "validatingwebhookconfigurations" | "mutatingwebhookconfigurations" => "configuration",
        "policyreports" => "reports",
        _ if resource.contains("admissionpolic") => "admission policies and bindings",
        _ => resource
            .strip_suffix("es")
            .filter(|it| it.ends_with('s'))
            .unwrap_or_else(|| resource.strip_suffix('s').unwrap_or(resource)),
    }
}

/// docs/security.md documents each right in the chart.
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
