//! Facts that a plan takes from the objects around a set: budgets, times of pods, missing revisions.

use serde_json::json;

use crate::{
    folder::Folder,
    plan::{daemon_set, planned, stateful_set},
};

/// A pod of the StatefulSet shop/db that became ready after these seconds.
fn pod(ordinal: u8, seconds: u8, restarts: u8) -> String {
    let set = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": true}]);
    let ready = format!("2026-11-23T09:00:{seconds:02}Z");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("db-{ordinal}"), "namespace": "shop", "uid": "p", "ownerReferences": set,
            "labels": {"app": "db", "controller-revision-hash": "db-1"}, "creationTimestamp": "2026-11-23T09:00:00Z"},
        "spec": {
            "nodeName": "n", "containers": [{"name": "main", "image": "db:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": format!("data-db-{ordinal}")}}],
        },
        "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}],
            "containerStatuses": [{"name": "main", "image": "db:1", "imageID": "", "ready": true, "restartCount": restarts}],
        },
    });
    format!("---\n{pod}\n")
}

fn stored() -> String {
    stateful_set("db", 3, "db:1", "").replacen("namespace: shop}", "namespace: shop, uid: s}", 1)
}

#[test]
fn earlier_pods_give_an_estimate_with_its_basis() {
    // db-1 became ready again after a restart, which says nothing about its start.
    let pods = pod(0, 20, 0) + &pod(1, 59, 1) + &pod(2, 30, 0);
    let ready = "  minReadySeconds: 10\n";
    let folder = Folder::new([
        ("now.yaml", (stored() + &pods).as_str()),
        ("db.yaml", &stateful_set("db", 3, "db:2", ready)),
    ]);
    let (markdown, plan) = planned(&folder, "db.yaml --against now.yaml");
    let words = "estimate: 120 s and the time that pods take to stop, because 2 pods of the set took 30 s to become \
                 ready (median), in 3 waves";
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    let summary = &plan["objects"][0]["summary"];
    assert_eq!(
        (&summary["atLeastSeconds"], &summary["estimatedSeconds"]),
        (&json!(30), &json!(120))
    );
    // A rollout that never ends has none, and neither has one without pods to learn from.
    for args in ["db.yaml --against now.yaml --never-ready new", "db.yaml --against db.yaml"] {
        let (_, plan) = planned(&folder, args);
        assert_eq!(plan["objects"][0]["summary"].get("estimatedSeconds"), None, "{plan:#}");
    }
}

#[test]
fn missing_revisions_are_named() {
    let folder = Folder::new([
        ("now.yaml", (stored() + &pod(0, 5, 0) + &pod(1, 5, 0) + &pod(2, 5, 0)).as_str()),
        ("db.yaml", &stateful_set("db", 3, "db:2", "")),
    ]);
    let words = "the ControllerRevisions of the set aren't in the input";
    let (markdown, _) = planned(&folder, "db.yaml --against now.yaml");
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    // Nothing is claimed about the cluster without pods.
    folder.write("now.yaml", stored());
    let (markdown, _) = planned(&folder, "db.yaml --against now.yaml");
    assert!(!markdown.stdout.contains(words), "{}", markdown.stdout);
}

#[test]
fn a_rollout_that_takes_down_more_than_a_budget_allows_says_so() {
    let parallel =
        "  podManagementPolicy: Parallel\n  updateStrategy: {rollingUpdate: {maxUnavailable: 3}}\n";
    let set = |image| stateful_set("db", 4, image, parallel);
    let budget = |spec: &str| {
        format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: least, namespace: shop}}\n\
             spec: {{{spec}, selector: {{matchLabels: {{app: db}}}}}}\n"
        )
    };
    let folder = Folder::new([("before.yaml", set("db:1").as_str()), ("after.yaml", &set("db:2"))]);
    let over = |of: &str, spec: &str| {
        folder.write("before.yaml", set("db:1"));
        folder.write("after.yaml", set("db:2"));
        let text = folder.read(of) + &budget(spec);
        folder.write(of, text);
        let args = "after.yaml --against before.yaml";
        let (markdown, _) = planned(&folder, args);
        let allowed = markdown
            .stdout
            .split("allows the eviction of ")
            .nth(1)
            .and_then(|it| it.chars().next());
        assert_eq!(allowed.is_some(), markdown.stdout.contains("allows to evict: `least`"));
        allowed
    };
    for file in ["before.yaml", "after.yaml"] {
        assert_eq!(over(file, "minAvailable: 3"), Some('1'));
        assert_eq!(over(file, "minAvailable: 1"), None);
        assert_eq!(over(file, "maxUnavailable: 2"), Some('2'));
        // A percentage is rounded up.
        assert_eq!(over(file, "maxUnavailable: 26%"), Some('2'));
        assert_eq!(over(file, "maxUnavailable: 51%"), None);
    }
}

/// What is next to a set in manifests and dumps changes its plan only if a cluster has it, and then all of it.
#[test]
fn other_objects_count_only_if_a_cluster_has_them_all() {
    let other = |kind: &str, name: &str, more: &str, is_stored: bool| {
        let uid = if is_stored { ", uid: x" } else { "" };
        let version = match kind {
            "ControllerRevision" => "apps/v1",
            "PodDisruptionBudget" => "policy/v1",
            "Event" => "events.k8s.io/v1",
            _ => "v1",
        };
        format!(
            "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop{uid}{more}\n"
        )
    };
    let owner = "ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s, controller: true}]";
    let own = format!(", {owner}, labels: {{app: db}}}}");
    let others = [
        ("Pod", "db-test", ", annotations: {helm.sh/hook: test}}\nspec: {containers: []}"),
        ("Pod", "db-test", ", labels: {app: db}}\nspec: {containers: []}"),
        ("Pod", "db-1", &*format!("{own}\nspec: {{containers: []}}")),
        ("PersistentVolumeClaim", "data-db-1", "}\nspec: {accessModes: [ReadWriteOnce]}"),
        ("PersistentVolumeClaim", "other", "}\nspec: {accessModes: [ReadWriteOnce]}"),
        ("ControllerRevision", "db-1", &*format!("{own}\nrevision: 1\ndata: {{}}")),
        ("Node", "node-1", "}"),
        (
            "Event",
            "db-1",
            "}\nregarding: {kind: Pod, name: db-1, namespace: shop}\nreason: Killing",
        ),
        (
            "PodDisruptionBudget",
            "db",
            "}\nspec: {minAvailable: 1, selector: {matchLabels: {app: db}}}",
        ),
    ];
    let (old, new) = (stateful_set("db", 3, "db:1", ""), stateful_set("db", 3, "db:2", ""));
    let status = "status: {replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3, observedGeneration: 1}\n";
    let counted = stored().replacen("---\n", &format!("{status}---\n"), 1);
    let agents = |image: &str| daemon_set("agent", image, "");
    let steps = |before: &str, after: &str| {
        let folder = Folder::new([("before.yaml", before), ("after.yaml", after)]);
        let (ran, plan) = planned(&folder, "after.yaml --against before.yaml");
        let objects = plan["objects"].as_array().unwrap_or_else(|| panic!("{ran:?}")).iter();
        let steps =
            objects.map(|it| (it["steps"].clone(), it["summary"]["atMostUnavailable"].clone()));
        steps.collect::<Vec<_>>()
    };
    for (before, after) in [(&old, &new), (&counted, &new), (&agents("a:1"), &agents("a:2"))] {
        let alone = steps(before, after);
        for (kind, name, more) in others {
            for is_stored in [false, true] {
                let other = other(kind, name, more, is_stored);
                let what = format!("{kind} {name} stored: {is_stored}");
                // The nodes of a cluster are what a DaemonSet runs on.
                if !(kind == "Node" && is_stored && before.contains("DaemonSet")) {
                    assert_eq!(steps(&(before.clone() + &other), after), alone, "{what}, before");
                }
                assert_eq!(steps(before, &(after.clone() + &other)), alone, "{what}, after");
            }
        }
    }
    // Some of the pods are said.
    let folder =
        Folder::new([("before.yaml", (counted + &pod(1, 5, 0)).as_str()), ("after.yaml", &new)]);
    folder
        .setguard(&["plan", "after.yaml", "--against", "before.yaml"])
        .prints("the input has 1 of 3");
}

#[test]
fn input_without_objects_deletes_nothing() {
    let set = stateful_set("db", 3, "db:1", "");
    let folder = Folder::new([
        ("before/db.yaml", set.as_str()),
        ("empty.yaml", "---\n# Source: shop/templates/db.yaml\n"),
        ("empty/none.yaml", "# nothing\n"),
        ("overlays/prod/kustomization.yaml", "resources: [../../base]\n"),
        (
            "overlays/prod/service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\n",
        ),
        ("base/db.yaml", set.as_str()),
        (
            "remote/kustomization.yaml",
            "resources: [service.yaml, \"https://example.com/db?ref=v1\"]\n",
        ),
        ("whole/kustomization.yaml", "resources: [db.yaml]\n"),
        ("whole/db.yaml", set.as_str()),
    ]);
    for (path, code, said) in [
        ("-", 2, "<stdin> has no objects"),
        ("empty.yaml", 2, "empty.yaml has no objects"),
        ("empty", 2, "there are no objects in the new manifests"),
        (
            "overlays/prod",
            2,
            "overlays/prod/kustomization.yaml:1: ../../base is not among the manifests",
        ),
        ("remote", 2, "https://example.com/db?ref=v1 is not among the manifests"),
        ("overlays/prod base", 0, ""),
        ("whole", 0, ""),
    ] {
        let args: Vec<_> =
            ["plan"].into_iter().chain(path.split(' ')).chain(["--against", "before"]).collect();
        let ran = folder.feed(&args, "");
        assert_eq!(ran.code, code, "{path}: {ran:?}");
        assert!(ran.stderr.contains(said), "{path}: {ran:?}");
        assert!(!ran.stdout.contains("db-2 deleted"), "{path}: {ran:?}");
    }
    for path in ["-", "empty.yaml", "empty"] {
        let ran = folder.feed(&["plan", path, "--against", "before", "--allow-empty"], "");
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        assert!(ran.stdout.contains("db-2 deleted"), "{path}: {ran:?}");
    }
    folder.setguard(&["plan", "whole", "--against", "empty.yaml"]).ends(2).prints_no("created");
}
