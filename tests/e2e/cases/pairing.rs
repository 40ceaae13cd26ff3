//! The example of a paired controller, with its manifests.

use crate::harness::example;
use crate::prelude::*;

pub(super) const CASES: &[Case] = &[Case::needing(
    &[SCHEDULER],
    "the-example-controller-keeps-one-pod-on-every-node",
    example_controller,
)];

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pairing");
const CONTROLLER: &str = "system:serviceaccount:node-agents:agent-controller";
const OURS: &str = "setguard.io/daemon-template=fluentd";

fn example_controller(namespace: &Namespace<'_>) {
    let mut nodes = node::create_four(namespace, "paired").to_vec();
    let manifest = |name: &str| format!("{FOLDER}/{name}.yaml");
    let kubectl = &namespace.control_plane.kubectl;
    kubectl.run(&["apply", "-f", &manifest("controller")], "").silently();
    namespace.apply(&template(namespace)).silently();

    without_pairing(namespace);

    let args = ["create", "token", "agent-controller", "-n", "node-agents"];
    let token = kubectl.run(&args, "").accepted().stdout;
    let kubeconfig = namespace.control_plane.kubeconfig("agent-controller", token.trim());
    let folder = namespace.control_plane.folder();
    let _controller = example::start_paired_controller(&kubeconfig, folder);

    let first = eventually("a pod on each of the four nodes", || settled(namespace, &nodes));
    first.values().for_each(assert_injected);

    surplus(namespace, &nodes, &first);

    node::create(namespace, "paired-late", None);
    nodes.push("paired-late".to_owned());
    eventually("a pod on the new node", || settled(namespace, &nodes));
    namespace.kubectl(&["delete", "node", "paired-late"], "").accepted();
    nodes.pop();
    let rest = eventually("the node's pod to be deleted", || settled(namespace, &nodes));
    assert_eq!(uids(&rest), uids(&first), "the other pods must have been left alone");

    new_template(namespace, &nodes, &rest);
}

/// The controller runs as the administrator, who is not a paired controller in the policy, so setguard does not pin
/// its pods. The controller must notice that.
fn without_pairing(namespace: &Namespace<'_>) {
    let kubectl = &namespace.control_plane.kubectl;
    let folder = namespace.control_plane.folder();
    let mut controller = example::start_paired_controller(&kubectl.kubeconfig, folder);
    let log = controller.log.clone();
    controller.wait_until("the controller to see that it is not paired", || {
        let text = fs::read_to_string(&log).ok()?;
        text.contains("setguard did not pin the pod").then_some(())
    });
    namespace.assert_none("pods");
}

fn template(namespace: &Namespace<'_>) -> Value {
    let file = format!("{FOLDER}/fluentd-template.yaml");
    let args = ["create", "--dry-run=client", "-o", "json", "-f", &file];
    let mut template = namespace.control_plane.kubectl.run(&args, "").json();
    template["metadata"]["namespace"] = json!(namespace.name);
    template["template"]["spec"]["nodeSelector"] = json!({ node::LABEL: namespace.name });
    template
}

/// Asserts a pin and tolerations. All come from setguard: the template has none.
#[track_caller]
fn assert_injected(pod: &Value) {
    let spec = &pod["spec"];
    let node = pod["metadata"]["annotations"]["setguard.io/node"].as_str();
    assert_eq!(node, node::bound_to(pod), "the scheduler must bind it to its node: {pod}");
    let pin = json!([{ "key": "metadata.name", "operator": "In", "values": [node] }]);
    assert_eq!(
        spec["affinity"],
        json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchFields": pin }],
        }}})
    );
    for key in node::CONTROL_PLANE_TAINTS {
        let toleration = json!({ "key": key, "operator": "Exists", "effect": "NoSchedule" });
        let all = spec["tolerations"].as_array().expect("tolerations");
        assert_eq!(all.iter().filter(|it| **it == toleration).count(), 1, "{key} in {all:?}");
    }
}

fn surplus(namespace: &Namespace<'_>, nodes: &[String], first: &BTreeMap<String, Value>) {
    let mut second = first[&nodes[0]].clone();
    for field in ["uid", "resourceVersion", "creationTimestamp", "generateName", "managedFields"] {
        second["metadata"].as_object_mut().expect("metadata").remove(field);
    }
    second["metadata"]["name"] = json!("zz-second");
    for field in ["nodeName", "affinity", "tolerations"] {
        second["spec"].as_object_mut().expect("a spec").remove(field);
    }
    namespace.create_as(CONTROLLER, &second).silently();
    let rest = eventually("the second pod to be deleted", || settled(namespace, nodes));
    assert_eq!(uids(&rest), uids(first), "the oldest must stay");
}

fn new_template(namespace: &Namespace<'_>, nodes: &[String], before: &BTreeMap<String, Value>) {
    let mut changed = template(namespace);
    let image = "fluent/fluentd:v1.18-1";
    changed["template"]["spec"]["containers"][0]["image"] = json!(image);
    namespace.apply(&changed).silently();
    let mut alone = 0;
    let after = eventually("the new image on every node", || {
        let pods = node::pods(namespace, OURS);
        let placed = |pod: &&Value| !node::is_terminating(pod) && node::bound_to(pod).is_some();
        let there = pods.iter().filter(placed).count();
        assert!(there + 1 >= nodes.len(), "more than one node is without its pod: {pods:#?}");
        alone += usize::from(there + 1 == nodes.len());
        node::finish_terminating(namespace, &pods);
        let is_new = |pod: &Value| pod["spec"]["containers"][0]["image"] == image;
        match settled(namespace, nodes) {
            Ok(pods) if pods.values().all(is_new) => Ok(pods),
            Ok(pods) => Err(format!("{:?}", pods.keys())),
            Err(pods) => Err(pods),
        }
    });
    assert!(alone > 0, "no node was ever without its pod");
    let (before, after) = (uids(before), uids(&after));
    assert!(after.iter().all(|uid| !before.contains(uid)), "{before:?} {after:?}");
}

/// The pods by node, if each of these nodes has exactly one bound pod.
fn settled(namespace: &Namespace<'_>, nodes: &[String]) -> Result<BTreeMap<String, Value>, String> {
    let pods = node::pods(namespace, OURS);
    node::finish_terminating(namespace, &pods);
    let mut bound: Vec<&str> = pods.iter().filter_map(node::bound_to).collect();
    bound.sort_unstable();
    let mut expected: Vec<&str> = nodes.iter().map(String::as_str).collect();
    expected.sort_unstable();
    if bound != expected || pods.len() != nodes.len() || pods.iter().any(node::is_terminating) {
        return Err(format!("expected a pod on each of {expected:?}: {}", Value::from(pods)));
    }
    let by_node = |pod: Value| (node::bound_to(&pod).unwrap_or_default().to_owned(), pod);
    Ok(pods.into_iter().map(by_node).collect())
}

fn uids(pods: &BTreeMap<String, Value>) -> Vec<&Value> {
    pods.values().map(|pod| &pod["metadata"]["uid"]).collect()
}
