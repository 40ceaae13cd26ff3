//! Checks each object of the chart against the Kubernetes types and against setguard's rules.

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling,
    batch::v1 as batch, core::v1 as core, networking::v1 as networking, policy::v1 as policy,
    rbac::v1 as rbac,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::each;
use crate::support;

#[test]
fn kubernetes_knows_every_field() {
    each(|file, objects, _| {
        for object in objects {
            let kind = object["kind"].as_str().unwrap();
            let known = match kind {
                "ClusterRole" => same::<rbac::ClusterRole>(object),
                "ClusterRoleBinding" => same::<rbac::ClusterRoleBinding>(object),
                "ConfigMap" => same::<core::ConfigMap>(object),
                "CronJob" => same::<batch::CronJob>(object),
                "Deployment" => same::<apps::Deployment>(object),
                "HorizontalPodAutoscaler" => same::<autoscaling::HorizontalPodAutoscaler>(object),
                "Job" => same::<batch::Job>(object),
                "MutatingAdmissionPolicy" => same::<admission::MutatingAdmissionPolicy>(object),
                "MutatingAdmissionPolicyBinding" => {
                    same::<admission::MutatingAdmissionPolicyBinding>(object)
                }
                "MutatingWebhookConfiguration" => {
                    same::<admission::MutatingWebhookConfiguration>(object)
                }
                "NetworkPolicy" => same::<networking::NetworkPolicy>(object),
                "Pod" => same::<core::Pod>(object),
                "PodDisruptionBudget" => same::<policy::PodDisruptionBudget>(object),
                "ResourceQuota" => same::<core::ResourceQuota>(object),
                "Role" => same::<rbac::Role>(object),
                "RoleBinding" => same::<rbac::RoleBinding>(object),
                "Secret" => same::<core::Secret>(object),
                "Service" => same::<core::Service>(object),
                "ServiceAccount" => same::<core::ServiceAccount>(object),
                "ValidatingAdmissionPolicy" => same::<admission::ValidatingAdmissionPolicy>(object),
                "ValidatingAdmissionPolicyBinding" => {
                    same::<admission::ValidatingAdmissionPolicyBinding>(object)
                }
                "ValidatingWebhookConfiguration" => {
                    same::<admission::ValidatingWebhookConfiguration>(object)
                }
                // Kinds of cert-manager and the Prometheus Operator.
                "Certificate" | "Issuer" | "PodMonitor" | "PrometheusRule" | "ServiceMonitor" => {
                    Ok(())
                }
                kind => Err(format!("this test has no type for a {kind}")),
            };
            known.unwrap_or_else(|why| panic!("{file}: {kind}: {why}"));
        }
    });
}

/// Reads an object as a Kubernetes type, writes it and compares: unknown fields get lost.
///
/// # Errors
///
/// The first difference.
fn same<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    lost(object, &serde_json::to_value(typed).unwrap(), "")
}

fn lost(before: &Value, after: &Value, path: &str) -> Result<(), String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                // k8s-openapi does not write empty maps and lists.
                let empty = matches!(value, Value::Object(o) if o.is_empty())
                    || matches!(value, Value::Array(a) if a.is_empty());
                match after.get(key) {
                    Some(kept) => lost(value, kept, &format!("{path}.{key}"))?,
                    None if empty => {}
                    None => return Err(format!("{path}.{key} is not a known field")),
                }
            }
            Ok(())
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let mut pairs = before.iter().zip(after).enumerate();
            pairs.try_for_each(|(i, (before, after))| lost(before, after, &format!("{path}[{i}]")))
        }
        _ if before == after => Ok(()),
        _ => Err(format!("{path}: {before} became {after}")),
    }
}

/// The pod templates of the chart would be accepted in a DaemonSet too.
#[test]
fn setguard_accepts_the_pods_of_its_own_chart() {
    each(|file, objects, _| {
        for object in objects {
            let mut template = match object["kind"].as_str().unwrap() {
                "Deployment" | "Job" => object["spec"]["template"].clone(),
                "Pod" => json!({"metadata": object["metadata"], "spec": object["spec"]}),
                _ => continue,
            };
            template["spec"]["restartPolicy"] = "Always".into();
            // A Pod has these two, a template does not.
            template["metadata"]["name"] = Value::Null;
            template["metadata"]["namespace"] = Value::Null;
            let labels = template["metadata"]["labels"].clone();
            let daemon_set = json!({
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "guard", "namespace": "guards"},
                "spec": {"selector": {"matchLabels": labels}, "template": template},
            });
            let found = support::check(&daemon_set.to_string());
            let denied: Vec<_> = found.iter().filter(|found| found.mode == "deny").collect();
            assert!(denied.is_empty(), "{file}: {}: {denied:#?}", object["kind"]);
        }
    });
}
