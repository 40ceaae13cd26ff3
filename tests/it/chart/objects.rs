//! Each object of the chart, held against the types of Kubernetes and the rules of setguard.

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, batch::v1 as batch, core::v1 as core,
    networking::v1 as networking, policy::v1 as policy, rbac::v1 as rbac,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::each;
use crate::support;

#[test]
fn every_field_is_one_that_kubernetes_knows() {
    each(|file, objects, _| {
        for object in objects {
            let kind = object["kind"].as_str().unwrap();
            let known = match kind {
                "ClusterRole" => same::<rbac::ClusterRole>(object),
                "ClusterRoleBinding" => same::<rbac::ClusterRoleBinding>(object),
                "ConfigMap" => same::<core::ConfigMap>(object),
                "Deployment" => same::<apps::Deployment>(object),
                "Job" => same::<batch::Job>(object),
                "MutatingWebhookConfiguration" => {
                    same::<admission::MutatingWebhookConfiguration>(object)
                }
                "NetworkPolicy" => same::<networking::NetworkPolicy>(object),
                "Pod" => same::<core::Pod>(object),
                "PodDisruptionBudget" => same::<policy::PodDisruptionBudget>(object),
                "Role" => same::<rbac::Role>(object),
                "RoleBinding" => same::<rbac::RoleBinding>(object),
                "Secret" => same::<core::Secret>(object),
                "Service" => same::<core::Service>(object),
                "ServiceAccount" => same::<core::ServiceAccount>(object),
                "ValidatingWebhookConfiguration" => {
                    same::<admission::ValidatingWebhookConfiguration>(object)
                }
                // Of cert-manager and the Prometheus Operator.
                "Certificate" | "Issuer" | "PrometheusRule" | "ServiceMonitor" => Ok(()),
                kind => Err(format!("nobody has thought of a {kind}")),
            };
            known.unwrap_or_else(|why| panic!("{file}: {kind}: {why}"));
        }
    });
}

/// Whether an object is still the same when it was read and written. A field of no meaning is lost.
fn same<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    lost(object, &serde_json::to_value(typed).unwrap(), "")
}

fn lost(before: &Value, after: &Value, path: &str) -> Result<(), String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                // k8s-openapi does not write what is empty.
                let empty = matches!(value, Value::Object(o) if o.is_empty())
                    || matches!(value, Value::Array(a) if a.is_empty());
                match after.get(key) {
                    Some(kept) => lost(value, kept, &format!("{path}.{key}"))?,
                    None if empty => {}
                    None => return Err(format!("{path}.{key} is no field")),
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

/// What the pods of the chart are made of would be accepted in a DaemonSet too.
#[test]
fn the_pods_please_setguard_itself() {
    each(|file, objects, _| {
        for object in objects {
            let mut template = match object["kind"].as_str().unwrap() {
                "Deployment" | "Job" => object["spec"]["template"].clone(),
                "Pod" => json!({"metadata": object["metadata"], "spec": object["spec"]}),
                _ => continue,
            };
            template["spec"]["restartPolicy"] = "Always".into();
            // Which pods only have in a template of another kind.
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
