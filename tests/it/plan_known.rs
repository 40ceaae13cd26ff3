//! Plan facts from objects around a set. tests/cases/plan_known.txt has the facts.

use crate::{folder::Folder, plan::daemon_set, plan::planned, plan::stateful_set};

/// Objects next to a set affect its plan only if they come from a cluster, and only if complete.
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
    let counted = old.replacen("namespace: shop}", "namespace: shop, uid: s}", 1);
    let counted = counted.replacen("---\n", &format!("{status}---\n"), 1);
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
                // A DaemonSet runs on the cluster's nodes.
                if !(kind == "Node" && is_stored && before.contains("DaemonSet")) {
                    assert_eq!(steps(&(before.clone() + &other), after), alone, "{what}, before");
                }
                assert_eq!(steps(before, &(after.clone() + &other)), alone, "{what}, after");
            }
        }
    }
}
