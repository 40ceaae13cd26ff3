//! The pods of the built-in DaemonSet controller.

use crate::prelude::*;

/// The programs for cases with bound pods.
const RUNNING: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER];

pub(super) const CASES: &[Case] = &[
    Case::needing(RUNNING, "a-daemon-reaches-the-control-plane", control_plane),
    Case::needing(RUNNING, "a-template-asks-for-one-node", annotated_template),
    Case::needing(RUNNING, "a-new-template-leaves-a-tainted-node", left),
];

/// The built-in controller creates a pod for a node only if the *template* tolerates the node's taints; injection into
/// pods comes too late.
fn control_plane(namespace: &Namespace<'_>) {
    let nodes = node::create_four(namespace, "built-in");
    for name in ["plain", "asks"] {
        let mut set = with_app(daemon_set(name), name);
        set["spec"]["template"]["spec"]["nodeSelector"] = json!({ node::LABEL: namespace.name });
        if name == "asks" {
            set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
        }
        namespace.apply(&set).silently();
    }
    // When "asks" has pods on all nodes, "plain" has had the same time.
    assert_bound(namespace, "asks", &nodes);
    assert_bound(namespace, "plain", &nodes[2..]);
    for (name, count) in [("asks", 4), ("plain", 2)] {
        let status = namespace.read(&format!("daemonset/{name}"))["status"].take();
        assert_eq!(status["desiredNumberScheduled"], count, "{name}: {status}");
    }
}

/// The built-in controller copies the annotation into the pods of all nodes.
fn annotated_template(namespace: &Namespace<'_>) {
    let nodes = node::create_four(namespace, "annotated");
    let mut set = daemon_set("agent");
    set["spec"]["template"]["metadata"]["annotations"] = json!({ "setguard.io/node": nodes[2] });
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({ node::LABEL: namespace.name });
    namespace.apply(&set).with_warning("template-node-annotation");
    assert_bound(namespace, "e2e", &nodes[2..3]);
    eventually("the pod of the other node to be denied", || {
        let events = "get events -o json --field-selector reason=FailedCreate";
        let events = namespace.does(events).json();
        let denied = |event: &serde_json::Value| {
            let message = event["message"].as_str().unwrap_or_default();
            message.contains("node-pin-conflict") && message.contains(&*nodes[3])
        };
        let events = events["items"].as_array().cloned().unwrap_or_default();
        if events.iter().any(denied) { Ok(()) } else { Err(serde_json::Value::from(events)) }
    });
}

/// The rollout deletes the pod on a node with an untolerated taint, and creates none. The webhook, with a view of the
/// nodes, warns beforehand.
fn left(namespace: &Namespace<'_>) {
    let names = ["left-dedicated", "left-worker"].map(str::to_owned);
    node::create(namespace, &names[0], Some("dedicated"));
    node::create(namespace, &names[1], None);
    viewer::allow(namespace, SETGUARD, &[]);
    let viewer = Viewer::start(namespace, &namespace.control_plane.setguard_kubeconfig());
    viewer.knows_all();
    let mut set = daemon_set("agent");
    let pod = &mut set["spec"]["template"]["spec"];
    pod["nodeSelector"] = json!({ node::LABEL: namespace.name });
    pod["terminationGracePeriodSeconds"] = json!(0);
    pod["tolerations"] = json!([{ "key": "dedicated", "operator": "Exists" }]);
    namespace.apply(&set).accepted();
    assert_bound(namespace, "e2e", &names);
    set["spec"]["template"]["spec"]["tolerations"] = json!([]);
    namespace.apply(&set).with_warning("taint-no-longer-tolerated");
    eventually("the pod of the other node to be replaced, and no other", || {
        let status = namespace.read("daemonset/agent")["status"].take();
        let is_over = status["updatedNumberScheduled"] == 1
            && status["desiredNumberScheduled"] == 1
            && node::pods(namespace, "app=e2e").len() == 1;
        if is_over { Ok(()) } else { Err(status) }
    });
    assert_bound(namespace, "e2e", &names[1..]);
}

fn assert_bound(namespace: &Namespace<'_>, app: &str, nodes: &[String]) {
    let pods = eventually("the DaemonSet controller and the scheduler", || {
        let pods = node::pods(namespace, &format!("app={app}"));
        let bound = pods.iter().filter_map(node::bound_to).count();
        if bound >= nodes.len() { Ok(pods) } else { Err(serde_json::Value::from(pods)) }
    });
    let mut bound: Vec<Option<&str>> = pods.iter().map(node::bound_to).collect();
    bound.sort_unstable();
    assert_eq!(bound, nodes.iter().map(|name| Some(&**name)).collect::<Vec<_>>(), "of {app}");
}
