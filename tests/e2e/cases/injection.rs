//! The injections into stored objects, and the users that get them.

use crate::node::CONTROL_PLANE_TAINTS;
use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("a-paired-controllers-pod-is-injected", paired),
    Case::new("anybody-elses-pod-is-not", unpaired),
    Case::new("a-template-is-injected-when-it-asks", template),
    Case::new("a-template-is-injected-when-its-namespace-asks", template_by_namespace),
];

const CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";
const LABEL: &str = "setguard.io/control-plane";

fn pod_for_node(node: &str) -> Value {
    let mut pod = pod("daemon");
    pod["metadata"]["annotations"] = json!({ "setguard.io/node": node });
    pod
}

fn paired(namespace: &Namespace<'_>) {
    namespace.create_as(CONTROLLER, &pod_for_node("node-a")).silently();
    let stored = namespace.read("pod/daemon");
    let keys = toleration_keys(&stored["spec"]);
    for key in CONTROL_PLANE_TAINTS {
        assert!(keys.contains(&key), "expected a toleration of {key} in {keys:?}");
    }
    // The API server has already added one with a time limit; the first in the list takes effect.
    let tolerations = stored["spec"]["tolerations"].as_array().expect("tolerations");
    let first = tolerations.iter().find(|t| t["key"] == "node.kubernetes.io/not-ready");
    let unlimited = json!({
        "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
    });
    assert_eq!(first, Some(&unlimited), "in {tolerations:?}");
    let terms = stored
        .pointer("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")
        .expect("a required node affinity");
    let pin = json!([{ "key": "metadata.name", "operator": "In", "values": ["node-a"] }]);
    assert_eq!(terms["nodeSelectorTerms"], json!([{ "matchFields": pin }]));
    assert_eq!(stored["spec"]["nodeName"], Value::Null, "the scheduler places the pod");
}

fn unpaired(namespace: &Namespace<'_>) {
    let output = namespace.apply(&pod_for_node("node-a"));
    output.with_warning("unpaired-node-annotation");
    let stored = namespace.read("pod/daemon");
    let keys = toleration_keys(&stored["spec"]);
    assert!(CONTROL_PLANE_TAINTS.iter().all(|key| !keys.contains(key)), "{keys:?}");
    assert_eq!(stored["spec"]["affinity"], Value::Null);
}

fn template(namespace: &Namespace<'_>) {
    namespace.apply(&asking("asks")).silently();
    assert_template_keys(namespace, "asks", &CONTROL_PLANE_TAINTS);
    namespace.apply(&daemon_set("does-not")).silently();
    assert_template_keys(namespace, "does-not", &[]);
    // A label added later works too, and applying it twice changes nothing.
    namespace.apply(&asking("does-not")).silently();
    namespace.apply(&asking("does-not")).silently();
    assert_template_keys(namespace, "does-not", &CONTROL_PLANE_TAINTS);
}

fn template_by_namespace(namespace: &Namespace<'_>) {
    let label = format!("{LABEL}=true");
    namespace.kubectl(&["label", "namespace", namespace.name, &label], "").accepted();
    // Webhook selectors see a changed namespace a moment later.
    let probe = || namespace.would_store(&daemon_set("probe"));
    becomes("the namespace's label to be seen", probe, |stored| {
        !toleration_keys(&stored["spec"]["template"]["spec"]).is_empty()
    });
    namespace.apply(&daemon_set("agent")).silently();
    assert_template_keys(namespace, "agent", &CONTROL_PLANE_TAINTS);
    // With both labels, the API server calls two webhooks, but each toleration appears once.
    namespace.apply(&asking("twice")).silently();
    assert_template_keys(namespace, "twice", &CONTROL_PLANE_TAINTS);
}

fn asking(name: &str) -> Value {
    let mut set = daemon_set(name);
    set["metadata"]["labels"] = json!({ LABEL: "true" });
    set
}

#[track_caller]
fn assert_template_keys(namespace: &Namespace<'_>, name: &str, expected: &[&str]) {
    let stored = namespace.read(&format!("daemonset/{name}"));
    assert_eq!(toleration_keys(&stored["spec"]["template"]["spec"]), expected);
}

fn toleration_keys(pod_spec: &Value) -> Vec<&str> {
    let tolerations = pod_spec["tolerations"].as_array().map(Vec::as_slice).unwrap_or_default();
    tolerations.iter().filter_map(|toleration| toleration["key"].as_str()).collect()
}
