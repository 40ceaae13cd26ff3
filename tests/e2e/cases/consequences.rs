//! The consequences of a change: the webhook predicts them, and the controllers prove them.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::prelude::*;

/// The programs for cases with bound pods.
const RUNNING: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER];

pub(super) const CASES: &[Case] = &[
    Case::needing(RUNNING, "a-change-leaves-nodes", nodes),
    Case::needing(RUNNING, "a-change-takes-pods-down", pods),
    Case::needing(&[CONTROLLER_MANAGER], "a-change-scales-claims-away", claims),
    Case::needing(&[CONTROLLER_MANAGER], "a-limit-holds-in-two-writes", two_writes),
    Case::needing(&[CONTROLLER_MANAGER], "evictions-ask-no-statefulset", evictions),
];

const POLICY: &str = "\
apiVersion: setguard.io/v1alpha1
kind: Policy
limits:
  - {names: [limited, limited-fast, limited-by-hand, limited-held], atMostUnavailable: 25%, reason: agreed}
  - {names: [kept], deletesClaims: false, reason: agreed with storage}
";

const DRY_RUN: &[&str] = &["apply", "--dry-run=server", "-f", "-"];

fn start(namespace: &Namespace<'_>) -> Viewer {
    viewer::allow(namespace, SETGUARD, &[]);
    let kubeconfig = namespace.control_plane.setguard_kubeconfig();
    let viewer = Viewer::start_with(namespace, &kubeconfig, POLICY);
    viewer.knows_all();
    viewer
}

fn daemons(namespace: &Namespace<'_>, name: &str, most: &str) -> Value {
    let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": most } });
    let set = rolled_by(with_app(daemon_set(name), name), &strategy);
    with_pod(set, &json!({ "nodeSelector": { node::LABEL: namespace.name } }))
}

fn make_ready(namespace: &Namespace<'_>, name: &str, count: usize) {
    let label = format!("app={name}");
    let ask = || node::pods(namespace, &label).iter().filter_map(node::bound_to).count();
    becomes("the DaemonSet controller and the scheduler", ask, |bound| *bound == count);
    set_ready(namespace, &node::pods(namespace, &label));
    let ask = || namespace.read(&format!("daemonset/{name}"))["status"].take();
    becomes("the pods to be available", ask, |status| status["numberAvailable"] == json!(count));
}

fn set_ready(namespace: &Namespace<'_>, pods: &[Value]) {
    let ready =
        json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let patch = json!({ "status": { "phase": "Running", "conditions": [ready] } });
    for pod in pods {
        let name = pod["metadata"]["name"].as_str().expect("a name");
        namespace.does(&format!("patch pod {name} --subresource=status --patch {patch}"));
    }
}

fn pods_of(namespace: &Namespace<'_>, name: &str, count: usize) -> Vec<Value> {
    eventually("the pods", || {
        let pods = node::pods(namespace, &format!("app={name}"));
        if pods.len() == count { Ok(pods) } else { Err(pods.len()) }
    })
}

fn parallel(name: &str, replicas: usize) -> Value {
    let parallel = json!({ "replicas": replicas, "podManagementPolicy": "Parallel" });
    with(with_app(stateful_set(name), name), &parallel)
}

fn going(namespace: &Namespace<'_>, label: &str) -> usize {
    node::pods(namespace, label).iter().filter(|pod| node::is_terminating(pod)).count()
}

/// Without a kubelet, terminating pods remain and can be counted.
fn nodes(namespace: &Namespace<'_>) {
    let nodes = ["a", "b", "c", "d"].map(|name| format!("left-{name}"));
    nodes.iter().for_each(|name| node::create(namespace, name, None));
    namespace.kubectl(&["label", "node", &nodes[0], "disk=ssd"], "").accepted();
    let viewer = start(namespace);
    for name in ["agent", "limited"] {
        namespace.apply(&daemons(namespace, name, "10%")).accepted();
        make_ready(namespace, name, 4);
    }
    let change = |name: &str| {
        let mut set = daemons(namespace, name, "10%");
        set["spec"]["template"]["spec"]["nodeSelector"]["disk"] = json!("ssd");
        set
    };
    let said = "this change deletes its pods on 3 of 4 nodes at once";
    let ask = || namespace.kubectl(DRY_RUN, &change("agent").to_string()).accepted();
    becomes("the view to have the nodes", ask, |output| output.stderr.contains(said));
    namespace.apply(&change("limited")).refused(&["limit-exceeded", "on 3 of 4 nodes at once"]);
    namespace.apply(&change("agent")).with_warning("daemon-leaves-nodes");
    becomes("three pods to be deleted", || going(namespace, "app=agent"), |going| *going == 3);
    assert_eq!(going(namespace, "app=limited"), 0);
    node::finish_terminating(namespace, &node::pods(namespace, "app=agent"));
    eventually("the last pod to be replaced, and no other to be created", || {
        let pods = node::pods(namespace, "app=agent");
        node::finish_terminating(namespace, &pods);
        let status = namespace.read("daemonset/agent")["status"].take();
        let is_over = status["updatedNumberScheduled"] == 1 && pods.len() == 1;
        if is_over { Ok(()) } else { Err(status) }
    });
    make_ready(namespace, "agent", 1);
    let output = namespace.does("rollout status daemonset/agent --timeout=5s");
    assert!(output.stdout.contains("successfully rolled out"), "{output}");
    drop(viewer);
}

fn pods(namespace: &Namespace<'_>) {
    let nodes = ["a", "b", "c", "d"].map(|name| format!("wave-{name}"));
    nodes.iter().for_each(|name| node::create(namespace, name, None));
    let viewer = start(namespace);
    let mut set = daemons(namespace, "agent", "50%");
    namespace.apply(&set).accepted();
    make_ready(namespace, "agent", 4);
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/main:2");
    let said = "this change replaces all 4 pods, 2 at a time";
    let output = namespace.kubectl(DRY_RUN, &set.to_string()).with_warning("many-pods-at-once");
    assert!(output.stderr.contains(said), "{output}");
    namespace.apply(&set).with_warning("many-pods-at-once");
    becomes("two pods to be deleted", || going(namespace, "app=agent"), |going| *going == 2);

    let five = with(without_replicas(), &json!({ "replicas": 5 }));
    namespace.apply(&five).accepted();
    let set = without_replicas();
    let output = namespace.kubectl(DRY_RUN, &set.to_string()).with_warning("many-pods-at-once");
    assert!(output.stderr.contains("removes 4 of 5 pods: db-1 to db-4"), "{output}");
    drop(viewer);

    // The controller of StatefulSets runs for no other case.
    let control_plane = ControlPlane::start(&namespace.control_plane.assets);
    control_plane.start_controllers(&["statefulset-controller"]);
    let namespace = Namespace::create(&control_plane, "replicas");
    let count = |wanted: usize| {
        let ask = || node::pods(&namespace, "app=e2e").len();
        becomes(&format!("{wanted} pods"), ask, |pods| *pods == wanted);
    };
    namespace.apply(&five).accepted();
    count(5);
    namespace.apply(&set).accepted();
    count(1);
}

fn without_replicas() -> Value {
    with(stateful_set("db"), &json!({ "podManagementPolicy": "Parallel", "replicas": null }))
}

/// Each of two writes is harmless alone.
fn two_writes(shared: &Namespace<'_>) {
    // Before, the API server drops maxUnavailable of StatefulSets.
    if shared.control_plane.minor() < 35 {
        return;
    }
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.start_controllers(&["statefulset-controller"]);
    let namespace = &Namespace::create(&control_plane, "two-writes");
    let viewer = start(namespace);
    let one = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1 } });
    let all = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "100%" } });
    let by_hand = json!({ "type": "OnDelete", "rollingUpdate": null });
    let held = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "100%", "partition": 4 } });
    let free = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "100%", "partition": 0 } });
    let patch = |name: &str, spec: &Value| {
        let patch = json!({ "spec": spec }).to_string();
        namespace.kubectl(&["patch", &format!("statefulset/{name}"), "--patch", &patch], "")
    };
    let image = json!({ "spec": { "containers": [{ "name": "main", "image": "registry.example/main:2" }] } });
    for (suffix, first, second) in
        [("fast", &one, &all), ("by-hand", &by_hand, &all), ("held", &held, &free)]
    {
        for prefix in ["limited", "open"] {
            let name = &format!("{prefix}-{suffix}");
            let label = &format!("app={name}");
            namespace.apply(&rolled_by(parallel(name, 4), &one)).accepted();
            set_ready(namespace, &pods_of(namespace, name, 4));
            let ask = || namespace.read(&format!("statefulset/{name}"))["status"].take();
            becomes("the pods to be available", ask, |status| status["availableReplicas"] == 4);
            patch(name, &json!({ "updateStrategy": first })).accepted();
            patch(name, &json!({ "template": image })).accepted();
            let output = patch(name, &json!({ "updateStrategy": second }));
            if prefix == "limited" {
                output.refused(&["limit-exceeded", "of 4 pods at a time, because they"]);
                let spec = namespace.read(&format!("statefulset/{name}"))["spec"].take();
                assert_ne!(spec["updateStrategy"], *second);
                continue;
            }
            output.with_warning("many-pods-at-once");
            let is_ready =
                |pod: &&Value| pod["status"]["conditions"].to_string().contains("\"Ready\"");
            let ready = || node::pods(namespace, label).iter().filter(is_ready).count();
            becomes("no pod to be ready", ready, |ready| *ready == 0);
        }
    }
    drop(viewer);
}

/// `kubectl scale` writes only the replica count; the view has the rest.
fn claims(namespace: &Namespace<'_>) {
    let viewer = start(namespace);
    let set = |name: &str| {
        let retention = json!({ "whenDeleted": "Retain", "whenScaled": "Delete" });
        let spec = json!({ "replicas": 3, "persistentVolumeClaimRetentionPolicy": retention });
        let mut set = with(with_app(stateful_set(name), name), &spec);
        add_claim(&mut set, None, "1Gi");
        set
    };
    for name in ["kept", "free"] {
        namespace.apply(&set(name)).accepted();
    }
    let scale = |name: &str, replicas: u32| {
        let scale = format!("scale statefulset/{name} --replicas={replicas}");
        namespace.kubectl(&words(&scale), "")
    };
    let text = "this removes kept-1 and kept-2, and whenScaled Delete also deletes the claims of each removed pod, \
                such as data-kept-1; the policy forbids it by deletesClaims: false (agreed with storage)";
    eventually("the view to have the set", || {
        let output = scale("kept", 1);
        if output.success {
            scale("kept", 3).accepted();
        }
        if output.stderr.contains(text) { Ok(()) } else { Err(output.to_string()) }
    });
    scale("kept", 1).refused(&["limit-exceeded", text]);
    assert_eq!(namespace.read("statefulset/kept")["spec"]["replicas"], 3);
    scale("kept", 4).silently();
    scale("kept", 3).refused(&[text.split_once(" kept-1").expect("two parts").0, "data-kept-3"]);
    scale("free", 1).silently();
    // The change that makes the next one harmful, while the status changes.
    let retention = |when: &str| {
        let retention = json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": when } });
        namespace.merge("statefulset/kept", &json!({ "spec": retention }));
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0.. {
                if is_over.load(SeqCst) {
                    break;
                }
                let status = json!({ "status": { "collisionCount": i, "replicas": 0 } });
                namespace.merge("statefulset/kept --subresource=status", &status);
            }
        });
        let accepted = (0..25).filter(|_| {
            retention("Retain");
            retention("Delete");
            let output = scale("kept", 2);
            if output.success {
                scale("kept", 4).accepted();
            }
            output.success
        });
        let accepted = accepted.count();
        is_over.store(true, SeqCst);
        assert_eq!(accepted, 0);
    });
    let retention = json!({ "whenScaled": "Retain" });
    let spec = json!({ "replicas": 4, "persistentVolumeClaimRetentionPolicy": retention });
    namespace.apply(&with(set("kept"), &spec)).accepted();
    becomes("the view to have the change", || scale("kept", 1), |output| output.success);
    drop(viewer);
}

/// The evidence of `replicas-without-budget`.
fn evictions(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.start_controllers(&["statefulset-controller", "disruption-controller"]);
    let namespace = Namespace::create(&control_plane, "evictions");
    for name in ["bare", "budgeted"] {
        namespace.apply(&parallel(name, 3)).accepted();
    }
    let budget = json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": "budget" },
        "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "app": "budgeted" } } } });
    namespace.apply(&budget).accepted();
    for name in ["bare", "budgeted"] {
        set_ready(&namespace, &pods_of(&namespace, name, 3));
    }
    let ask = || namespace.read("poddisruptionbudget/budget")["status"].take();
    becomes("the budget to count the pods", ask, |status| status["disruptionsAllowed"] == 1);
    let evict = |pod: &str| {
        let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", namespace.name);
        let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": { "name": pod, "namespace": namespace.name } });
        control_plane.kubectl.run(&["create", "--raw", &path, "-f", "-"], &eviction.to_string())
    };
    for i in 0..3 {
        evict(&format!("bare-{i}")).accepted();
    }
    evict("budgeted-0").accepted();
    evict("budgeted-1").refused(&["would violate the pod's disruption budget"]);
}
