//! Plans that begin in the middle of something, with the pods and nodes that there are.

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    plan::{daemon_set, planned, stateful_set},
};

/// A node; `labels` are its labels.
fn node(name: &str, labels: &Value) -> String {
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
    format!("---\n{node}\n")
}

/// A pod of the DaemonSet ops/agent. The time of creation is the number of its minute.
fn daemon(name: &str, node: &str, hash: &str, minute: u8) -> String {
    let set = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "s", "controller": true}]);
    let labels =
        json!({"app": "agent", "controller-revision-hash": hash, "pod-template-generation": hash});
    let created = format!("2026-11-23T09:{minute:02}:00Z");
    let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": created}]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ops", "uid": name, "labels": labels, "ownerReferences": set,
            "creationTimestamp": created},
        "spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": ready},
    });
    format!("---\n{pod}\n")
}

/// The DaemonSet ops/agent as the API server stores it, with this generation of its template.
fn stored_daemons(image: &str, generation: &str) -> String {
    let annotation = format!("deprecated.daemonset.template.generation: \"{generation}\"");
    let metadata = format!("namespace: ops, uid: s, annotations: {{{annotation}}}");
    daemon_set("agent", image, "").replace("namespace: ops", &metadata)
}

#[test]
fn a_refused_change_has_the_steps_of_making_it_again_in_json_too() {
    let before = stateful_set("db", 3, "db:1", "");
    let after = before.replace("storage: 1Gi", "storage: 2Gi").replace("db:1", "db:2");
    let folder = Folder::new([("before.yaml", before.as_str()), ("after.yaml", after.as_str())]);
    let (markdown, plan) = planned(&folder, "after.yaml --against before.yaml");
    assert!(markdown.stdout.contains("1. db-2 replaced"), "{}", markdown.stdout);
    let object = &plan["objects"][0];
    assert_eq!((&object["change"], &object["summary"]["replaced"]), (&json!("refused"), &json!(3)));
    assert_eq!(object["steps"].as_array().unwrap().len(), 6, "{object:#}");
}

#[test]
fn daemons_that_a_stopped_rollout_does_not_reach_are_kept() {
    let nodes: String = (1..=21).map(|i| node(&format!("n{i:02}"), &json!({}))).collect();
    let of =
        |image| daemon_set("agent", image, "").replace("maxUnavailable: 2", "maxUnavailable: 7");
    let folder = Folder::new([("nodes", nodes.as_str())]);
    folder.write("before.yaml", of("a:1"));
    folder.write("after.yaml", of("a:2"));
    let args = "after.yaml --against before.yaml --nodes nodes --never-ready new";
    let (markdown, plan) = planned(&folder, args);
    let words = "the pod keeps the old template on 14 of the nodes, the rollout stops earlier";
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    let summary = &plan["objects"][0]["summary"];
    assert_eq!((&summary["replaced"], &summary["kept"]), (&json!(7), &json!(14)));
}

#[test]
fn pods_that_move_to_other_nodes_are_down_meanwhile() {
    let nodes = ["a", "b"].map(|pool| {
        let node = |i| node(&format!("{pool}{i}"), &json!({"pool": pool}));
        (1..=3).map(node).collect::<String>()
    });
    let of = |pool| daemon_set("agent", "a:1", &format!("      nodeSelector: {{pool: {pool}}}\n"));
    let folder = Folder::new([("nodes", nodes.concat().as_str())]);
    folder.write("before.yaml", of("a"));
    folder.write("after.yaml", of("b"));
    let (markdown, plan) = planned(&folder, "after.yaml --against before.yaml --nodes nodes");
    assert!(markdown.stdout.contains("at most 3 pods are down"), "{}", markdown.stdout);
    assert_eq!(plan["objects"][0]["summary"]["atMostUnavailable"], 3);
    // A StatefulSet with other ordinals.
    let of = |start| {
        stateful_set(
            "db",
            3,
            "db:1",
            &format!("  podManagementPolicy: Parallel\n  ordinals: {{start: {start}}}\n"),
        )
    };
    folder.write("before.yaml", of(0));
    folder.write("after.yaml", of(5));
    let (markdown, _) = planned(&folder, "after.yaml --against before.yaml");
    assert!(markdown.stdout.contains("at most 3 pods are down"), "{}", markdown.stdout);
}

#[test]
fn second_pods_and_pods_without_a_node_are_deleted() {
    let nodes = ["n1", "n2"].map(|name| node(name, &json!({}))).concat();
    let pods = [
        daemon("agent-a", "n1", "1", 1),
        daemon("agent-b", "n1", "2", 2),
        daemon("agent-c", "n2", "2", 1),
        daemon("agent-d", "n3", "2", 1),
    ];
    let now = stored_daemons("a:2", "2") + &pods.concat();
    let folder = Folder::new([("nodes", nodes.as_str()), ("now.yaml", now.as_str())]);
    folder.write("after.yaml", daemon_set("agent", "a:2", ""));
    let (markdown, plan) = planned(&folder, "after.yaml --against now.yaml --nodes nodes");
    for words in [
        "the second pod on 1 node is deleted: n1",
        "loses its pod: 1 node, because there is no such node: n3",
    ] {
        assert!(markdown.stdout.contains(words), "{words}\n{}", markdown.stdout);
    }
    let steps = plan["objects"][0]["steps"].as_array().unwrap().iter();
    let steps = steps.map(|it| format!("{} {} {}", it["action"], it["node"], it["revision"]));
    let steps: Vec<_> = steps.map(|it| it.replace('"', "")).collect();
    assert_eq!(
        steps,
        ["delete n3 new", "delete n1 new", "delete n1 old", "create n1 new", "keep n2 new"]
    );
}
