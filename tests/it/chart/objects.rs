//! Checks each object of the chart against the Kubernetes types and setguard's rules.

use k8s_openapi::{
    Resource,
    api::{
        admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling,
        batch::v1 as batch, core::v1 as core, networking::v1 as networking, policy::v1 as policy,
        rbac::v1 as rbac,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use super::each;
use crate::prelude::*;

type Same = fn(&Value) -> Result<(), String>;

fn of<T: Resource + DeserializeOwned + Serialize>() -> (&'static str, Same) {
    (T::KIND, same::<T>)
}

#[test]
fn kubernetes_knows_every_field() {
    macro_rules! types {
        ($($group:ident $($kind:ident)*;)*) => { BTreeMap::from([$($(of::<$group::$kind>(),)*)*]) };
    }
    let types = types! {
        rbac ClusterRole ClusterRoleBinding Role RoleBinding;
        core ConfigMap Pod ResourceQuota Secret Service ServiceAccount;
        batch CronJob Job;
        apps Deployment;
        autoscaling HorizontalPodAutoscaler;
        admission MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
            MutatingWebhookConfiguration ValidatingAdmissionPolicy
            ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration;
        networking NetworkPolicy;
        policy PodDisruptionBudget;
    };
    // Kinds of cert-manager and the Prometheus Operator.
    let others = ["Certificate", "Issuer", "PodMonitor", "PrometheusRule", "ServiceMonitor"];
    each(|file, objects, _| {
        for object in objects {
            let kind = object["kind"].as_str().unwrap();
            let Some(same) = types.get(kind) else {
                assert!(others.contains(&kind), "this test has no type for a {kind}");
                continue;
            };
            same(object).unwrap_or_else(|why| panic!("{file}: {kind}: {why}"));
        }
    });
}

/// Reads an object as a Kubernetes type, writes it and compares: unknown fields get lost. Returns the first
/// difference.
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
            // A Pod has these two fields, but a template does not.
            template["metadata"]["name"] = Value::Null;
            template["metadata"]["namespace"] = Value::Null;
            let labels = template["metadata"]["labels"].clone();
            let daemon_set = json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": "guard", "namespace": "guards"},
                "spec": {"selector": {"matchLabels": labels}, "template": template},
            });
            let found = support::check(&daemon_set.to_string());
            let denied: Vec<_> = found.iter().filter(|found| found.mode == "deny").collect();
            assert!(denied.is_empty(), "{file}: {}: {denied:#?}", object["kind"]);
        }
    });
}
