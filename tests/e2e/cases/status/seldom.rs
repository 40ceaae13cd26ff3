//! Rare states. Each function explains the trick that causes its state.

use jiff::Span;

use super::{
    CONTROLLERS,
    cluster::{Cluster, SHOP, daemon_set_of, on_delete, partition, stateful_set_of},
    rows,
    untouched::{self, Untouched},
};
use crate::etcd;
use crate::prelude::*;

/// The user that deletes the pods of DaemonSets.
const DAEMON_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";
/// The user that deletes the pods of StatefulSets.
const STATEFUL_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

/// The expected findings: rule, object, and a part of the message.
const EXPECTED: &str = include_str!("seldom.txt");

pub(super) fn named_and_repaired(shared: &Namespace<'_>) {
    let plane = ControlPlane::start_with(&shared.control_plane.assets, &[etcd::JSON]);
    let controllers =
        [CONTROLLERS, &["disruption-controller", "resourcequota-controller"]].concat();
    plane.start_controllers(&controllers);
    plane.start_scheduler();
    let cluster = Cluster { plane: &plane, down: &[] };
    set_the_stage(&cluster);
    untouched::create(&cluster);
    eventually("all pods to run, and nothing to be found", || {
        cluster.run_pods(&[], PODS + untouched::PODS)?;
        let found = cluster.audit();
        if found.is_empty() { Ok(()) } else { Err(format!("{found:#?}")) }
    });

    let calm = Untouched::of(&cluster);
    surge_without_end(&cluster);
    refused_while_ready(&cluster);
    claims(&cluster);
    old_revisions(&cluster);
    budgets(&cluster);
    quota(&cluster);
    let found = cluster.names(&rows(EXPECTED));
    let status = "-o jsonpath={.status.numberReady}/{.status.updatedNumberScheduled}";
    for name in ["surge", "twice"] {
        let shown = cluster.does(&format!("get daemonset {name} -n {SHOP} {status}"));
        assert_eq!(shown, "1/", "{name}: one ready, none updated, and nothing of the second pod");
    }

    cluster.follow_all(&found, &calm, |(rule, object), finding| {
        if rule == "pdb-without-scale" {
            // The remedy for the other StatefulSet also repairs this one.
            return None;
        }
        if rule == "deletion-refused" {
            allow_deletions(&cluster, "hold", STATEFUL_SET_CONTROLLER, "kept");
            return finding.command("annotate");
        }
        if object == "StatefulSet/grown" {
            let message = &finding.message;
            assert!(
                message.contains("--cascade=orphan, which keeps its pods, and at once"),
                "{message}"
            );
            let delete = "kubectl delete statefulset -n shop grown --cascade=orphan";
            cluster.follow(delete, message);
            with_claims(&cluster, "grown", "disk", "2Gi");
            return None;
        }
        Some(finding.first_command())
    });
    // One pod remains on the node, and the controller may still not replace it.
    let left = cluster.names(&[["deletion-refused", "DaemonSet/twice", "binding 'keep' denied"]]);
    allow_deletions(&cluster, "keep", DAEMON_SET_CONTROLLER, "twice");
    let again = left.values().next().and_then(|it| it.command("annotate")).expect("a command");
    cluster.follow(&again, "the help");
    cluster.is_repaired(|_| true);
}

const PODS: usize = 17;

fn set_the_stage(cluster: &Cluster<'_>) {
    cluster.node("n0", "main", None);
    cluster.node("n1", "main", None);
    cluster.node("edge", "edge", None);
    cluster.namespace(SHOP, &json!({}));
    cluster.disk("disk", true);
    cluster.disk("rigid", false);
    for name in ["surge", "twice"] {
        cluster.apply(&rolled_by(daemon_set_of(name, "edge", "good:1"), &surge()));
    }
    with_claims(cluster, "grown", "disk", "1Gi");
    with_claims(cluster, "bigger", "rigid", "1Gi");
    reluctant_sets(cluster, "good:1");
    for (name, replicas) in [("guarded", 2), ("index", 1)] {
        cluster.serve(&labelled(stateful_set_of(name, "main", replicas, "good:1"), "store"));
    }
    cluster.serve(&labelled(stateful_set_of("helped", "main", 1, "good:1"), "team"));
    cluster.serve(&stateful_set_of("kept", "main", 1, "good:1"));
    cluster.namespace("full", &json!({}));
    cluster.apply(&wider("good:1"));
    cluster.apply(&labelled(daemon_set_of("helper", "edge", "good:1"), "team"));
}

/// A policy forbids the controller to delete the old pods of two surges. One of the sets must then stop surging.
fn surge_without_end(cluster: &Cluster<'_>) {
    deny_deletions(cluster, "keep", DAEMON_SET_CONTROLLER, &["surge", "twice"]);
    for name in ["surge", "twice"] {
        cluster.apply(&rolled_by(daemon_set_of(name, "edge", "good:2"), &surge()));
    }
    let pods = ["get", "pods", "-n", SHOP, "-l", "app in (surge, twice)", "-o", "name"];
    cluster.until("two pods of each on the node", &pods, |pods| pods.lines().count() == 4);
    let one_by_one = json!({ "rollingUpdate": { "maxUnavailable": 1 } });
    cluster.apply(&rolled_by(daemon_set_of("twice", "edge", "good:2"), &one_by_one));
}

/// Rollouts that stop with all pods ready: the old pod of a StatefulSet may not be deleted, and a quota has no room
/// for the new pod of a surge.
fn refused_while_ready(cluster: &Cluster<'_>) {
    deny_deletions(cluster, "hold", STATEFUL_SET_CONTROLLER, &["kept"]);
    cluster.apply(&stateful_set_of("kept", "main", 1, "good:2"));
    quota_of_one_pod(cluster, "full", "1");
    cluster.apply(&wider("good:2"));
}

fn wider(image: &str) -> Value {
    within(rolled_by(daemon_set_of("wider", "edge", image), &surge()), "full")
}

/// Forbids a user to delete pods with one of these values of the label `app`.
fn deny_deletions(cluster: &Cluster<'_>, name: &str, user: &str, apps: &[&str]) {
    let policy = include_str!("../../../fixtures/status-seldom/deny-deletions.yaml");
    let policy = policy.replace("NAME", name).replace("USER", user);
    let policy = policy.replace("APPS", &json!(apps).to_string());
    cluster.apply_text(&policy);
    let delete = || would_delete(cluster, user, apps[0]);
    becomes("the controller to be refused", delete, |output| output.stderr.contains("not now"));
}

fn allow_deletions(cluster: &Cluster<'_>, name: &str, user: &str, app: &str) {
    cluster.follow(&format!("kubectl delete validatingadmissionpolicybinding {name}"), "the help");
    let delete = || would_delete(cluster, user, app);
    becomes("the controller not to be refused", delete, |output| output.success);
}

fn would_delete(cluster: &Cluster<'_>, user: &str, app: &str) -> Output {
    let delete = format!("delete pods -n {SHOP} -l app={app} --dry-run=server --as {user}");
    cluster.kubectl(&words(&delete), "")
}

fn claims(cluster: &Cluster<'_>) {
    let larger = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
    cluster.does(&format!("patch pvc data-grown-0 -n {SHOP} --type=merge -p {larger}"));
    // Its driver has enlarged the volume.
    let capacity = json!({ "capacity": { "storage": "2Gi" } });
    cluster.patch_status("pvc/data-grown-0", SHOP, &capacity);
    cluster.does(&format!("delete statefulset bigger -n {SHOP} --cascade=orphan"));
    with_claims(cluster, "bigger", "rigid", "2Gi");
}

/// Sets whose strategies keep pods with an old template.
fn reluctant_sets(cluster: &Cluster<'_>, image: &str) {
    for (name, strategy) in [("canary", partition()), ("manual", on_delete())] {
        cluster.serve(&rolled_by(stateful_set_of(name, "main", 2, image), &strategy));
    }
    cluster.apply(&rolled_by(daemon_set_of("by-hand", "main", image), &on_delete()));
}

/// New templates that do not reach all pods, eight days later. The trick: the test rewrites the stored objects in
/// etcd.
fn old_revisions(cluster: &Cluster<'_>) {
    reluctant_sets(cluster, "good:2");
    let revisions = eventually("a second revision of each", || {
        let _ = cluster.run_pods(&[], 0);
        let names = cluster.does(&format!("get controllerrevisions -n {SHOP} -o name"));
        let of = |set: &str| names.matches(&format!("/{set}-")).count();
        let all = ["by-hand", "canary", "manual"].iter().all(|set| of(set) == 2);
        if all { Ok(names) } else { Err(names) }
    });
    let then = Timestamp::now() - Span::new().hours(8 * 24);
    for name in revisions.lines().filter_map(|it| it.strip_prefix("controllerrevision.apps/")) {
        let key = format!("/registry/controllerrevisions/{SHOP}/{name}");
        etcd::rewrite(cluster.plane, &key, |revision| {
            let time = then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            revision["metadata"]["creationTimestamp"] = json!(time);
        });
    }
}

/// One budget that wants all pods of two sets, and one that covers a DaemonSet's pods too.
fn budgets(cluster: &Cluster<'_>) {
    for (name, wants) in
        [("store", json!({ "minAvailable": 3 })), ("team", json!({ "maxUnavailable": 1 }))]
    {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": name, "namespace": SHOP },
            "spec": { "selector": { "matchLabels": { "part-of": name } } },
        });
        cluster.apply(&with(budget, &wants));
    }
}

/// Limits a namespace to one pod, and waits until the pods there are counted.
fn quota_of_one_pod(cluster: &Cluster<'_>, namespace: &str, used: &str) {
    cluster.one_pod(namespace);
    let path = "jsonpath={.status.used.pods}";
    let args = ["get", "resourcequota", "small", "-n", namespace, "-o", path];
    cluster.until("the quota to be counted", &args, |counted| counted == used);
}

fn quota(cluster: &Cluster<'_>) {
    cluster.namespace("small", &json!({}));
    quota_of_one_pod(cluster, "small", "0");
    cluster.apply(&within(daemon_set_of("crowd", "main", "good:1"), "small"));
}

fn surge() -> Value {
    json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } })
}

fn labelled(set: Value, part_of: &str) -> Value {
    with(set, &json!({ "template": { "metadata": { "labels": { "part-of": part_of } } } }))
}

fn with_claims(cluster: &Cluster<'_>, name: &str, class: &str, size: &str) {
    let mut set = stateful_set_of(name, "main", 1, "good:1");
    add_claim(&mut set, Some(class), size);
    cluster.serve(&set);
}
