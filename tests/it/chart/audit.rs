use super::{named, objects, of, render, rendered};
use crate::prelude::*;

const ON: [&str; 2] = ["--set", "audit.enabled=true"];

#[test]
fn the_audit_is_off_by_default() {
    let Some(all) = rendered(&[]) else { return };
    assert!(of(&all, "CronJob").is_empty());
    assert!(!all.iter().any(|it| it["metadata"]["name"] == "setguard-audit"));
}

#[test]
fn one_audit_runs_at_a_time_with_rights_of_its_own() {
    let Some(all) = rendered(&ON) else { return };
    let job = named(&all, "CronJob", "setguard-audit");
    assert_eq!(job["spec"]["concurrencyPolicy"], "Forbid");
    let job = &job["spec"]["jobTemplate"]["spec"];
    assert_eq!(job["backoffLimit"], 0);
    let pod = &job["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "setguard-audit");
    assert_eq!(pod["automountServiceAccountToken"], true);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
    let args = json!([
        "audit",
        "--cluster-reports=auto",
        "--exit-zero",
        "--policy=/etc/setguard/policy/policy.yaml"
    ]);
    assert_eq!(container["args"], args);
    named(&all, "ServiceAccount", "setguard-audit");
}

fn rights(helm: &Path, flags: &[&str]) -> (Vec<String>, Vec<String>) {
    let all = objects(&render(helm, &[&ON[..], flags].concat()));
    let role = named(&all, "ClusterRole", "setguard-audit");
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule["resourceNames"], Value::Null);
        let only_reads = rule["verbs"] == json!(["get", "list"]);
        let list = if only_reads { &mut reads } else { &mut writes };
        let group = rule["apiGroups"][0].as_str().unwrap();
        for resource in rule["resources"].as_array().unwrap() {
            list.push(format!("{group}/{}", resource.as_str().unwrap()));
        }
    }
    (reads, writes)
}

#[test]
fn the_audit_reads_no_secrets_and_writes_only_reports() {
    let Some(helm) = helm::find() else { return };
    let (reads, writes) = rights(&helm, &[]);
    assert!(reads.len() > 15, "{reads:?}");
    for never in ["secrets", "configmaps", "*"] {
        assert!(!reads.iter().any(|it| it.contains(never)), "{reads:?}");
    }
    assert_eq!(writes, ["openreports.io/reports", "wgpolicyk8s.io/policyreports"]);
    let (same, none) = rights(&helm, &["--set", "audit.clusterReports=none"]);
    assert_eq!((same, none), (reads, Vec::new()));
}

#[test]
fn metrics_go_to_a_file_in_a_volume() {
    let Some(helm) = helm::find() else { return };
    let file = super::chart().join("ci/audit-values.yaml").display().to_string();
    let all = objects(&render(&helm, &["--values", &file]));
    let pod = &of(&all, "CronJob")[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let args = pod["containers"][0]["args"].to_string();
    assert!(args.contains("--metrics-file=/textfile/setguard.prom"), "{args}");
    assert_eq!(pod["containers"][0]["volumeMounts"][1]["mountPath"], "/textfile");
    // Without a metrics file, no alert works.
    let alerts = |flags: &[&str]| {
        let on = ["--set", "metrics.prometheusRule.enabled=true"];
        render(&helm, &[&ON[..], &on, flags].concat()).contains("SetguardAuditStale")
    };
    assert!(!alerts(&[]));
    let volume = "audit.extraVolumeMounts=[{\"name\": \"textfile\", \"mountPath\": \"/textfile\"}]";
    let file = "audit.metricsFile=/textfile/setguard.prom";
    let flags =
        ["--set", "audit.extraVolumes[0].name=textfile", "--set", file, "--set-json", volume];
    assert!(alerts(&flags));
}

/// The account that reads the whole cluster need not share the server's namespace.
#[test]
fn the_audit_can_have_a_namespace_of_its_own() {
    let Some(helm) = helm::find() else { return };
    let flags = "audit.namespace=auditors,networkPolicy.restrictEgress=true,\
                 policy.rules.no-readiness-probe=deny";
    let all = objects(&render(&helm, &[&ON[..], &["--set", flags]].concat()));
    let there = all.iter().filter(|it| it["metadata"]["namespace"] == "auditors");
    let mut there: Vec<String> = there
        .map(|it| {
            let [kind, name] =
                [&it["kind"], &it["metadata"]["name"]].map(|it| it.as_str().unwrap());
            format!("{kind} {name}")
        })
        .collect();
    there.sort();
    let expected =
        ["ConfigMap setguard-policy", "CronJob setguard-audit", "NetworkPolicy setguard-audit"];
    assert_eq!(there, [&expected[..], &["ServiceAccount setguard-audit"]].concat());
    let policies: Vec<_> = of(&all, "ConfigMap").into_iter().map(|it| &it["data"]).collect();
    let [own, copy] = policies.iter().filter(|it| it.is_object()).collect::<Vec<_>>()[..] else {
        panic!("{policies:?}")
    };
    assert_eq!(own, copy);
    let binding = named(&all, "ClusterRoleBinding", "setguard-audit");
    let subject =
        json!([{"kind": "ServiceAccount", "name": "setguard-audit", "namespace": "auditors"}]);
    assert_eq!(binding["subjects"], subject);
    // A user's ConfigMap exists in both namespaces.
    let existing = ["--set", "audit.namespace=auditors,existingPolicyConfigMap=mine"];
    let all = objects(&render(&helm, &[&ON[..], &existing].concat()));
    assert!(!all.iter().any(|it| it["data"]["policy.yaml"].is_string()));
    let pod = &of(&all, "CronJob")[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][0]["configMap"]["name"], "mine");
}
