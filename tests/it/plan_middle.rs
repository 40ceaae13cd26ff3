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

#[test]
fn daemons_of_an_old_template_with_the_generation_of_the_new_one_are_kept() {
    let revision = |hash: &str, image: &str| {
        let set = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "s", "controller": true}]);
        let revision = json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {"name": format!("agent-{hash}"), "namespace": "ops", "uid": hash, "ownerReferences": set,
                "labels": {"app": "agent", "controller-revision-hash": hash}},
            "revision": 1, "data": {"spec": {"template": {"metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "main", "image": image}]}}}},
        });
        format!("---\n{revision}\n")
    };
    let nodes = ["n1", "n2"].map(|name| node(name, &json!({}))).concat();
    let pods = [daemon("agent-a", "n1", "1", 1), daemon("agent-b", "n2", "2", 1)].concat();
    let revisions = [revision("1", "a:1"), revision("2", "a:2")].concat();
    let now = stored_daemons("a:2", "1") + &pods + &revisions;
    let folder = Folder::new([("nodes", nodes.as_str()), ("now.yaml", now.as_str())]);
    folder.write("after.yaml", daemon_set("agent", "a:2", ""));
    let (markdown, plan) = planned(&folder, "after.yaml --against now.yaml --nodes nodes");
    let words = "the pod keeps the old template on 1 node, where it counts as new by its label \
                 pod-template-generation until it is deleted: n1";
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    let steps = plan["objects"][0]["steps"].as_array().unwrap().iter();
    let steps: Vec<_> = steps.map(|it| [&it["action"], &it["node"], &it["revision"]]).collect();
    assert_eq!(steps, [["keep", "n1", "old"], ["keep", "n2", "new"]]);
}

/// A pod of the StatefulSet shop/db as the API server stores it.
fn replica(ordinal: u8, hash: &str, is_ready: bool) -> String {
    let set = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": true}]);
    let name = format!("db-{ordinal}");
    let claim =
        json!({"name": "data", "persistentVolumeClaim": {"claimName": format!("data-{name}")}});
    let ready = json!([{"type": "Ready", "status": if is_ready { "True" } else { "False" },
        "lastTransitionTime": "2026-11-23T09:00:00Z"}]);
    let waiting = json!([{"name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": set,
            "labels": {"app": "db", "controller-revision-hash": hash}},
        "spec": {"nodeName": "n", "volumes": [claim]},
        "status": {"phase": "Running", "conditions": ready,
            "containerStatuses": if is_ready { json!([]) } else { waiting }},
    });
    format!("---\n{pod}\n")
}

/// A revision of the StatefulSet shop/db, with this image.
fn revision(number: u8, image: &str) -> String {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": true}]);
    let template = json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "main", "image": image,
            "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]},
    });
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": format!("db-{number}"), "namespace": "shop", "uid": "r", "ownerReferences": owner},
        "revision": number, "data": {"spec": {"template": template}},
    });
    format!("---\n{revision}\n")
}

/// The StatefulSet shop/db as the API server stores it, in the middle of a change from one revision to
/// another.
fn stored_set(replicas: u8, image: &str, more: &str, [current, update]: [&str; 2]) -> String {
    let status =
        format!("{{replicas: {replicas}, currentRevision: {current}, updateRevision: {update}}}");
    stateful_set("db", replicas, image, more).replacen(
        "namespace: shop}\n",
        &format!("namespace: shop, uid: s}}\nstatus: {status}\n"),
        1,
    )
}

/// The text of the plan for shop/db with this image.
fn text(now: &str, replicas: u8, image: &str, more: &str, flags: &str) -> String {
    let folder = Folder::new([("now.yaml", now)]);
    folder.write("after.yaml", stateful_set("db", replicas, image, more));
    let args = format!("plan after.yaml --against now.yaml {flags}");
    let ran = folder.setguard(&args.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.stderr, "");
    ran.stdout
}

#[track_caller]
fn assert_has(text: &str, words: &str) {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(text).contains(words), "{words:?} is not in\n{text}");
}

/// Seen on 1.35: `kubectl rollout undo` goes back to the broken revision that was there before.
#[test]
fn a_rollback_goes_to_the_last_revision_that_works() {
    let parallel = "  podManagementPolicy: Parallel\n";
    for (more, then) in [("", ", and then kubectl delete pod db-2 -n shop"), (parallel, "")] {
        let set = stored_set(3, "db:2", more, ["db-1", "db-2"]);
        let revisions = revision(1, "db:1") + &revision(2, "db:2");
        let pods = |works| {
            replica(0, "db-1", true) + &replica(1, "db-1", true) + &replica(2, "db-2", works)
        };
        let undo = "kubectl rollout undo sts/db -n shop";
        let broken = text(&(set.clone() + &pods(false) + &revisions), 3, "db:3", more, "");
        if more.is_empty() {
            // The broken pod holds up an ordered set before the change too.
            let command =
                "kubectl delete pod db-2 -n shop, and it comes back with the new template";
            assert_has(&broken, &format!("no other pod is touched before; then: {command}"));
        } else {
            assert_has(&broken, &format!("then: {undo} --to-revision=1{then}"));
        }
        let fine = text(&(set + &pods(true) + &revisions), 3, "db:3", more, "");
        assert_has(&fine, &format!("stops if db-2 never becomes ready; then: {undo}{then}"));
        assert!(!fine.contains("--to-revision"), "{fine}");
    }
}

#[test]
fn a_rollout_that_is_stuck_names_the_next_command() {
    let set = stored_set(2, "db:2", "", ["db-1", "db-2"]);
    let revisions = revision(1, "db:1") + &revision(2, "db:2");
    let now = set + &replica(0, "db-1", true) + &replica(1, "db-2", false) + &revisions;
    let undo = "kubectl rollout undo sts/db -n shop --to-revision=1";
    let shown = text(&now, 2, "db:2", "", "");
    assert_has(&shown, "nothing changes");
    assert_has(
        &shown,
        "then: kubectl rollout undo sts/db -n shop, and then kubectl delete pod db-1",
    );
    assert!(!shown.contains(undo), "{shown}");
}

#[test]
fn one_replica_and_a_canary_have_a_remedy() {
    let partition = "  updateStrategy: {rollingUpdate: {partition: 2}}\n";
    for (replicas, more) in [(1, ""), (3, partition)] {
        let before = stateful_set("db", replicas, "db:1", more);
        let last = replicas - 1;
        assert_has(
            &text(&before, replicas, "db:2", more, ""),
            &format!(
                "stops if db-{last} never becomes ready; then: kubectl rollout undo sts/db -n shop, \
                 and then kubectl delete pod db-{last} -n shop"
            ),
        );
    }
}

#[test]
fn daemons_that_are_all_replaced_at_once_are_all_at_risk() {
    let of =
        |image| daemon_set("agent", image, "").replace("maxUnavailable: 2", "maxUnavailable: 100%");
    let nodes = ["n1", "n2"].map(|name| node(name, &json!({}))).concat();
    let folder = Folder::new([("nodes", nodes.as_str())]);
    folder.write("before.yaml", of("a:1"));
    folder.write("after.yaml", of("a:2"));
    let (markdown, _) = planned(&folder, "after.yaml --against before.yaml --nodes nodes");
    assert_has(
        &markdown.stdout,
        "nothing stops it if the new pods never become ready, and then none is available; then: \
         kubectl rollout undo ds/agent -n ops",
    );
}

#[test]
fn created_pods_have_their_template_named_if_some_get_the_old_one() {
    let partition =
        "  podManagementPolicy: Parallel\n  updateStrategy: {rollingUpdate: {partition: 1}}\n";
    let set = stored_set(3, "db:2", partition, ["db-1", "db-2"]);
    let revisions = revision(1, "db:1") + &revision(2, "db:2");
    let now =
        set.replace("{replicas: 3, ", "{replicas: 1, ") + &replica(1, "db-1", true) + &revisions;
    let shown = text(&now, 3, "db:2", partition, "");
    assert_has(&shown, "1. db-2 created with the new template, db-0 created with the old template");
}

#[test]
fn volumes_that_are_retained_keep_the_data_of_deleted_claims() {
    let delete = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";
    let before = stateful_set("db", 4, "db:1", delete);
    let claim = |ordinal: u8, volume: Option<&str>| {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": format!("data-db-{ordinal}"), "namespace": "shop", "uid": "c"},
            "spec": {"storageClassName": "fast", "volumeName": volume},
        });
        format!("---\n{claim}\n")
    };
    let class = |policy| {
        format!(
            "---\n{}\n",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "fast"}, "provisioner": "p", "reclaimPolicy": policy})
        )
    };
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v3"},
        "spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    let claims = (0..3).map(|it| claim(it, None)).collect::<String>() + &claim(3, Some("v3"));
    let shown = |more: &str| text(&(before.clone() + &claims + more), 2, "db:1", delete, "");
    let volume = format!("---\n{volume}\n");
    assert_has(&shown(""), "claims DELETED with their data: data-db-3 data-db-2");
    let both = shown(&(volume + &class("Delete")));
    assert_has(&both, "claims DELETED with their data: data-db-2;");
    assert_has(&both, "claims DELETED, but their volumes are retained: data-db-3");
    let retained = shown(&class("Retain"));
    assert_has(&retained, "claims DELETED, but their volumes are retained: data-db-3 data-db-2");
    assert!(!retained.contains("with their data"), "{retained}");
}

/// A deleted claim stays as long as a pod uses it, also one that no set owns.
#[test]
fn a_deleted_claim_goes_with_an_orphan_that_is_being_deleted() {
    let pod = |is_used: bool| {
        let mut pod: Value =
            serde_json::from_str(replica(1, "db-1", true).trim_start_matches("---\n")).unwrap();
        pod["metadata"]["ownerReferences"] = json!([]);
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-23T09:30:00Z");
        if !is_used {
            pod["spec"]["volumes"] = json!([]);
        }
        format!("---\n{pod}\n")
    };
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-1", "namespace": "shop", "uid": "c",
            "deletionTimestamp": "2026-11-23T09:00:00Z",
            "finalizers": ["kubernetes.io/pvc-protection"]},
    });
    let set = stored_set(2, "db:1", "", ["db-1", "db-1"])
        .replace("{replicas: 2, ", "{replicas: 1, ")
        + &replica(0, "db-1", true);
    let now = set + &revision(1, "db:1") + &format!("---\n{claim}\n");
    let shown = text(&(now.clone() + &pod(true)), 3, "db:1", "", "");
    assert_has(&shown, "db-1 is being deleted already, and data-db-1 with it");
    assert_has(&shown, "claims DELETED with their data: data-db-1");
    let other = text(&(now + &pod(false)), 3, "db:1", "", "");
    assert!(!other.contains("DELETED"), "{other}");
}
