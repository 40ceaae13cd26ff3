//! The features that are off by default.

use super::{deployment, objects, of, pods, render, rendered, selects};
use crate::prelude::*;

#[test]
fn an_autoscaler_decides_the_number_of_replicas_alone() {
    let Some(helm) = helm::find() else { return };
    let on = ["--set", "autoscaling.enabled=true"];
    assert_eq!(deployment(&helm, &[])["spec"]["replicas"], 2);
    assert_eq!(deployment(&helm, &on)["spec"].get("replicas"), None);
    let all = objects(&render(&helm, &on));
    let [scaler] = of(&all, "HorizontalPodAutoscaler")[..] else { panic!("one autoscaler") };
    assert_eq!(scaler["spec"]["scaleTargetRef"]["name"], "setguard");
    assert_eq!(scaler["spec"]["minReplicas"], 2);
    // 0 replicas, for a setguard outside of the cluster, must arm the webhooks too.
    let zero = ["--set", "autoscaling.enabled=true,replicaCount=0"];
    assert!(deployment(&helm, &zero).to_string().contains("--arm-webhooks"));
}

#[test]
fn the_quota_is_for_the_priority_class_of_the_pods() {
    let Some(helm) = helm::find() else { return };
    let class = "priorityClassName=system-cluster-critical";
    let both = format!("{class},priorityClassQuota.enabled=true");
    let all = objects(&render(&helm, &["--set", &both]));
    let [quota] = of(&all, "ResourceQuota")[..] else { panic!("one quota") };
    let scope = json!([{"scopeName": "PriorityClass", "operator": "In",
                        "values": ["system-cluster-critical"]}]);
    assert_eq!(quota["spec"]["scopeSelector"]["matchExpressions"], scope);
    assert!(of(&objects(&render(&helm, &["--set", class])), "ResourceQuota").is_empty());
}

/// Alerts and dashboard select by the job label of both monitors.
#[test]
fn a_pod_monitor_finds_the_pods_and_names_the_job() {
    let Some(all) = rendered(&["--set", "metrics.podMonitor.enabled=true"]) else { return };
    let [monitor] = of(&all, "PodMonitor")[..] else { panic!("one PodMonitor") };
    let template = &of(&all, "Deployment")[0]["spec"]["template"];
    assert!(selects(&monitor["spec"]["selector"], &template["metadata"]["labels"]));
    let endpoint = &monitor["spec"]["podMetricsEndpoints"][0];
    let ports = template["spec"]["containers"][0]["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["name"] == endpoint["port"]));
    let job = json!({"targetLabel": "job", "replacement": "setguard"});
    assert_eq!(endpoint["relabelings"][0], job);
}

#[test]
fn alerts_have_the_labels_of_users_and_a_page() {
    let values = super::chart().join("ci/audit-values.yaml").display().to_string();
    let labels = "metrics.prometheusRule.ruleLabels.severity=none";
    let Some(all) = rendered(&["--values", &values, "--set", labels]) else { return };
    let rules = &of(&all, "PrometheusRule")[0]["spec"]["groups"][0]["rules"];
    for alert in rules.as_array().unwrap() {
        assert_eq!(alert["labels"]["team"], "platform", "{alert}");
        assert_ne!(alert["labels"]["severity"], "none", "{alert}");
    }
}

/// If a different policy denies all traffic, the hook pods still reach their servers, and setguard accepts the test
/// pod.
#[test]
fn hooks_work_where_everything_else_is_denied() {
    let Some(helm) = helm::find() else { return };
    let flags = "networkPolicy.restrictEgress=true,audit.enabled=true,\
                 networkPolicy.webhookFrom[0].ipBlock.cidr=10.0.0.0/8";
    let all = objects(&render(&helm, &["--set", flags]));
    let policies = of(&all, "NetworkPolicy");
    let pods = pods::of(&all, &pods::ALL);
    assert_eq!(pods.len(), 5);
    for pod in &pods {
        let labels = &pod["metadata"]["labels"];
        let own: Vec<_> = policies
            .iter()
            .filter(|policy| selects(&policy["spec"]["podSelector"], labels))
            .collect();
        let [own] = own[..] else { panic!("one policy for {labels}: {own:?}") };
        assert!(!own["spec"]["egress"].as_array().unwrap().is_empty(), "{own}");
    }
    let hooks = policies.iter().filter(|it| it["metadata"]["annotations"].is_object()).count();
    assert_eq!(hooks, 3, "policies of hooks come and go with their pods");
    let webhook = policies.iter().find(|it| it["metadata"]["name"] == "setguard").unwrap();
    let test = all.iter().find(|it| it["kind"] == "Pod").unwrap();
    let from = webhook["spec"]["ingress"][0]["from"].as_array().unwrap();
    let lets_in = from.iter().any(|peer| {
        peer["podSelector"].is_object()
            && selects(&peer["podSelector"], &test["metadata"]["labels"])
    });
    assert!(lets_in, "{from:?}");
}
