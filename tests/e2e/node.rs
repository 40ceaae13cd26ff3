//! Nodes without a kubelet, and the kubelet's work.

use crate::prelude::*;

/// The label that binds a case's daemons to its nodes.
pub(crate) const LABEL: &str = "e2e";
/// The taint of control plane nodes, and the one used before Kubernetes 1.24.
pub(crate) const CONTROL_PLANE_TAINTS: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Creates a ready node for this case, with room for pods.
pub(crate) fn create(namespace: &Namespace<'_>, name: &str, taint: Option<&str>) {
    // A kubelet sets the other labels.
    let labels = json!({
        LABEL: namespace.name, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
    });
    let taints: Vec<Value> =
        taint.iter().map(|key| json!({ "key": key, "effect": "NoSchedule" })).collect();
    let metadata = json!({ "name": name, "labels": labels });
    put(namespace.control_plane, json!({ "metadata": metadata, "spec": { "taints": taints } }));
}

/// Makes this node ready, with room for pods. It may exist.
pub(crate) fn put(plane: &ControlPlane, mut node: Value) {
    let room = json!({ "cpu": "4", "memory": "16Gi", "pods": "110" });
    let ready = json!({ "type": "Ready", "status": "True" });
    (node["apiVersion"], node["kind"]) = (json!("v1"), json!("Node"));
    node["status"] = json!({ "allocatable": room, "capacity": room, "conditions": [ready] });
    plane.kubectl.run(&["create", "-f", "-"], &node.to_string());
    // The API server taints every new node as not ready, and no node controller runs here to remove that taint.
    let taints = json!({ "spec": { "taints": node["spec"]["taints"] } }).to_string();
    let name = node["metadata"]["name"].as_str().expect("a name");
    plane.kubectl.run(&["patch", "node", name, "--type=merge", "-p", &taints], "").accepted();
}

pub(crate) fn create_four(namespace: &Namespace<'_>, prefix: &str) -> [String; 4] {
    let [taint, old_taint] = CONTROL_PLANE_TAINTS.map(Some);
    let nodes = [("first", taint), ("old", old_taint), ("worker-a", None), ("worker-b", None)];
    nodes.map(|(name, taint)| {
        let name = format!("{prefix}-{name}");
        create(namespace, &name, taint);
        name
    })
}

pub(crate) fn pods(namespace: &Namespace<'_>, label: &str) -> Vec<Value> {
    let mut list = namespace.does(&format!("get pods -l {label} -o json")).json();
    serde_json::from_value(list["items"].take()).expect("a list")
}

/// Removes terminating pods, like a kubelet after the end of their containers.
pub(crate) fn finish_terminating(namespace: &Namespace<'_>, pods: &[Value]) {
    for pod in pods.iter().filter(|pod| is_terminating(pod)) {
        let name = pod["metadata"]["name"].as_str().expect("a name");
        namespace.does(&format!("delete pod {name} --force --grace-period=0 --ignore-not-found"));
    }
}

pub(crate) fn is_terminating(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

pub(crate) fn bound_to(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}
