//! Pod fields that users set.

use super::{chart, objects, render};
use crate::prelude::*;

pub(super) fn of<'a>(objects: &'a [Value], kinds: &[&str]) -> Vec<&'a Value> {
    let objects = objects.iter().filter(|it| kinds.iter().any(|kind| it["kind"] == *kind));
    let pods = objects.filter_map(|object| match object["kind"].as_str()? {
        "Pod" => Some(object),
        "CronJob" => Some(&object["spec"]["jobTemplate"]["spec"]["template"]),
        _ => Some(&object["spec"]["template"]),
    });
    pods.collect()
}

pub(super) const ALL: [&str; 4] = ["Pod", "Deployment", "Job", "CronJob"];

pub(super) fn specs(objects: &[Value]) -> Vec<&Value> {
    of(objects, &ALL).into_iter().map(|pod| &pod["spec"]).collect()
}

fn with(helm: &std::path::Path, file: &str, flags: &[&str]) -> Vec<Value> {
    let file = chart().join("ci").join(file).display().to_string();
    objects(&render(helm, &[&["--values", &file], flags].concat()))
}

#[test]
fn all_pods_have_the_same_resolver_scheduler_and_users() {
    let Some(helm) = helm::find() else { return };
    let objects = with(&helm, "secret-values.yaml", &["--set", "audit.enabled=true"]);
    let pods = specs(&objects);
    assert_eq!(pods.len(), 5);
    let dns = json!({
        "nameservers": ["10.96.0.10"],
        "searches": ["svc.cluster.local"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    });
    for pod in pods {
        assert_eq!(pod["schedulerName"], "second-scheduler");
        assert_eq!((&pod["dnsPolicy"], &pod["dnsConfig"]), (&json!("None"), &dns));
        let aliases = json!([{"ip": "10.0.0.7", "hostnames": ["api.example.com"]}]);
        assert_eq!(pod["hostAliases"], aliases);
        assert_eq!(pod.get("hostUsers"), None);
    }
    for users in [true, false] {
        let flag = format!("hostUsers={users}");
        for pod in specs(&with(&helm, "audit-values.yaml", &["--set", &flag])) {
            assert_eq!(pod["hostUsers"], users);
        }
    }
    let plain = super::objects(&render(&helm, &["--set", "audit.enabled=true"]));
    for pod in specs(&plain) {
        for field in ["schedulerName", "dnsPolicy", "dnsConfig", "hostAliases", "hostUsers"] {
            assert_eq!(pod.get(field), None, "{field}");
        }
    }
}

#[test]
fn only_replicas_have_containers_of_users() {
    let Some(helm) = helm::find() else { return };
    let objects = with(&helm, "secret-values.yaml", &[]);
    let names = |pod: &Value, key: &str| -> Vec<String> {
        let all = pod[key].as_array().into_iter().flatten();
        all.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let [replica, hooks @ ..] = &specs(&objects)[..] else { panic!("no pods") };
    assert_eq!(names(replica, "containers"), ["setguard", "shipper"]);
    assert_eq!(names(replica, "initContainers"), ["proxy"]);
    assert_eq!(hooks.len(), 3);
    for pod in hooks {
        assert_eq!(names(pod, "containers").len() + names(pod, "initContainers").len(), 1);
    }
}

#[test]
fn the_oldest_version_of_tls_is_a_flag() {
    let Some(helm) = helm::find() else { return };
    let args =
        |flags: &[&str]| super::container(&objects(&render(&helm, flags)))["args"].to_string();
    assert!(args(&[]).contains("\"--tls-min-version=1.2\""));
    // Helm and YAML read it as a number.
    assert!(args(&["--set", "tls.minVersion=1.3"]).contains("\"--tls-min-version=1.3\""));
}
