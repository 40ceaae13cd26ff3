//! Facts that a plan takes from the objects around a set: budgets, times of pods, missing revisions.

use serde_json::json;

use crate::{
    folder::Folder,
    plan::{planned, stateful_set},
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
        ("now.yaml", (stored() + &pod(0, 5, 0)).as_str()),
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
