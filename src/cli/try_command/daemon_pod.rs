//! The pod that the DaemonSet controller creates for a node.

use serde_json::{Value, json};
use setguard_core::kubernetes::tolerations::of_daemons;

pub(super) const CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";
const NODE: &str = "node-1";

/// Returns `None` if the template has no spec.
///
/// Kubernetes: `syncNodes`, pkg/controller/daemon/daemon_controller.go, and `ReplaceDaemonSetPodNodeNameNodeAffinity`
/// and `AddOrUpdateDaemonPodTolerations`, pkg/controller/daemon/util/daemonset_util.go.
pub(super) fn of(daemon_set: &Value) -> Option<Value> {
    let (metadata, template) = (&daemon_set["metadata"], &daemon_set["spec"]["template"]);
    let mut spec = template["spec"].as_object()?.clone();
    let pin = json!({"key": "metadata.name", "operator": "In", "values": [NODE]});
    let affinity = spec.entry("affinity").or_insert_with(|| json!({}));
    affinity.as_object_mut()?.insert(
        "nodeAffinity".to_owned(),
        json!({"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchFields": [pin]}]}}),
    );
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([])).as_array_mut()?;
    for toleration in of_daemons(host_network) {
        let toleration = json!(toleration);
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    let owner = json!({"apiVersion": daemon_set["apiVersion"], "kind": daemon_set["kind"],
        "name": metadata["name"], "uid": "00000000-0000-4000-8000-000000000000",
        "controller": true, "blockOwnerDeletion": true});
    Some(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": format!("{}-", metadata["name"].as_str().unwrap_or_default()),
            "namespace": metadata["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owner],
        },
        "spec": spec,
    }))
}
