//! `serve --inventory`: its requests to the API server, and the state of the view over time during failures.
//!
//! All times of the view are divided by 60: a watch lasts a second, and a kind is stale after a second and a half
//! without confirmation.

mod faults;
mod release;

use setguard_testing::manifests::{self, with_app, within};

use crate::prelude::*;
use crate::{daemon::certificate_in, folder, limits_in_cluster};

struct Viewer {
    daemon: Daemon,
    client: Client,
    _dir: tempfile::TempDir,
}

impl Viewer {
    fn start(api_server: &ApiServer, args: &[&str]) -> Self {
        Viewer::start_at(60, api_server, args)
    }

    fn start_at(speed: u32, api_server: &ApiServer, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = api_server.kubeconfig(dir.path());
        let made = certificate_in(dir.path());
        let speed = speed.to_string();
        let args = [&["--inventory-speed-up", &speed], args].concat();
        let daemon = Daemon::with_files(dir.path(), &args, &[("KUBECONFIG", &kubeconfig)]);
        Viewer { daemon, client: Client::trusting(&[&made.ca]), _dir: dir }
    }

    fn of_workloads(api_server: &ApiServer) -> Self {
        Viewer::start(api_server, &["--inventory", "workloads"])
    }

    fn of_daemon_sets(minor: &'static str, count: usize) -> (ApiServer, Self) {
        let api_server = ApiServer::start(minor);
        daemon_sets(&api_server, count);
        let viewer = Viewer::of_workloads(&api_server);
        viewer.holds("DaemonSet", count);
        (api_server, viewer)
    }

    fn holds(&self, kind: &str, count: usize) {
        self.knows(kind);
        self.daemon.measured(&format!("setguard_inventory_objects{{kind=\"{kind}\"}} {count}"));
    }

    fn knows(&self, kind: &str) {
        self.daemon.measured(&format!("setguard_inventory_synced{{kind=\"{kind}\"}} 1"));
    }

    fn metric(&self, name: &str, kind: &str) -> Option<u64> {
        let metrics = self.daemon.get("/metrics").body;
        let start = format!("setguard_inventory_{name}{{kind=\"{kind}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
    }

    fn review(&self, path: &str, review: &str) -> Reply {
        let mut stream = self.client.connect(self.daemon.webhook).unwrap();
        let reply = post(&mut stream, path, review);
        assert_eq!(reply.status, 200);
        reply
    }

    fn answers(&self) {
        assert_eq!(self.daemon.get("/readyz").status, 200);
        self.review("/validate", &review("validate/daemonset-create"));
    }
}

fn daemon_set(namespace: &str, name: &str) -> Value {
    within(with_app(manifests::daemon_set(name), name), namespace)
}

fn daemon_sets(api_server: &ApiServer, count: usize) {
    for i in 0..count {
        api_server.apply("daemonsets", &daemon_set("shop", &format!("agent-{i}")));
    }
}

const WORKLOADS: [&str; 7] = [
    "DaemonSet", "Namespace", "PodDisruptionBudget", "PriorityClass", "Service", "StatefulSet",
    "StorageClass",
];

#[test]
fn an_old_api_server_is_listed_page_by_page_one_kind_after_the_other() {
    let api_server = ApiServer::start("33");
    daemon_sets(&api_server, 250);
    for i in 0..150 {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "spec": {},
            "metadata": {"name": format!("s-{i}"), "namespace": "shop"},
        });
        api_server.apply("services", &service);
    }
    api_server.change(|world| world.hold_pages = true);
    let viewer = Viewer::of_workloads(&api_server);
    eventually("a second page", || (api_server.asked("continue=") > 0).then_some(()));
    // Reviews don't wait for the view.
    (0..20).for_each(|_| viewer.answers());
    assert_eq!(viewer.metric("synced", "DaemonSet"), Some(0), "half a list is nothing");
    api_server.change(|world| world.hold_pages = false);
    viewer.holds("DaemonSet", 250);
    viewer.holds("Service", 150);
    WORKLOADS.iter().for_each(|kind| viewer.knows(kind));
    assert_eq!(api_server.lists_at_once(), 1);
    assert_eq!(api_server.asked("sendInitialEvents=true"), 0);
    assert_eq!(api_server.asked("daemonsets?&limit=100"), 3);
    assert!(viewer.daemon.get("/metrics").body.contains("setguard_inventory_bytes "));
    for never in ["/pods", "/replicasets", "/secrets", "/configmaps", "/deployments", "/nodes"] {
        assert_eq!(api_server.asked(never), 0, "{never}");
    }
}

#[test]
fn large_objects_are_asked_for_in_small_pages() {
    let api_server = ApiServer::start("33");
    for i in 0..60 {
        let mut set = daemon_set("shop", &format!("agent-{i}"));
        set["metadata"]["annotations"] = json!({"note": "x".repeat(100_000)});
        api_server.apply("daemonsets", &set);
    }
    let viewer = Viewer::of_workloads(&api_server);
    viewer.holds("DaemonSet", 60);
    // On a busy machine, a list that takes too long starts again.
    let world = api_server.world();
    let last = world.requests.rsplit(|uri| uri.contains("daemonsets?&limit=100")).next();
    let small = last.into_iter().flatten().filter(|uri| uri.contains("daemonsets?&limit=20&"));
    assert_eq!(small.count(), 2);
    assert!(world.requests.iter().any(|uri| uri.contains("daemonsets?&limit=100")));
}

#[test]
fn a_new_api_server_streams_its_lists_and_changes_follow() {
    let api_server = ApiServer::start("36");
    daemon_sets(&api_server, 3);
    let viewer = Viewer::start(&api_server, &["--inventory", "full"]);
    viewer.holds("DaemonSet", 3);
    for kind in WORKLOADS.iter().chain(&["Deployment", "Node"]) {
        viewer.knows(kind);
    }
    assert_eq!(api_server.asked("limit="), 0);
    api_server.apply("daemonsets", &daemon_set("shop", "new"));
    viewer.holds("DaemonSet", 4);
    api_server.delete("daemonsets", "shop", "agent-0");
    viewer.holds("DaemonSet", 3);
    // The next watch begins where the last one ended.
    eventually("another watch", || (api_server.asked("daemonsets?&watch") > 2).then_some(()));
    assert_eq!(api_server.asked("daemonsets?&watch=true&timeoutSeconds=4&allowWatchBookmarks=true&sendInitialEvents=true"), 1);
    api_server.apply("daemonsets", &daemon_set("shop", "newer"));
    viewer.holds("DaemonSet", 4);
    let verbose = viewer.daemon.get("/readyz?verbose");
    assert_eq!(verbose.status, 200);
    assert!(verbose.body.contains("DaemonSet: fresh, 4 objects"), "{}", verbose.body);
    assert_eq!(viewer.daemon.get("/readyz").body, "ok\n");
}

#[test]
fn what_is_listed_again_does_not_vanish_meanwhile() {
    let (api_server, viewer) = Viewer::of_daemon_sets("33", 150);
    api_server.change(|world| {
        // Later watches fail, and lists stop after their first page.
        world.compacted = world.version() + 1;
        world.hold_pages = true;
        world.requests.clear();
    });
    eventually("a second page", || (api_server.asked("continue=") > 0).then_some(()));
    for _ in 0..50 {
        assert_eq!(viewer.metric("objects", "DaemonSet"), Some(150));
    }
    viewer.answers();
    api_server.delete("daemonsets", "shop", "agent-149");
    api_server.change(|world| world.hold_pages = false);
    viewer.holds("DaemonSet", 149);
}

#[test]
fn a_dead_connection_is_noticed_and_the_view_grows_old() {
    let (api_server, viewer) = Viewer::of_daemon_sets("36", 2);
    api_server.change(|world| world.silent = true);
    faults::becomes(&viewer, "DaemonSet", "stale, 2 objects");
    viewer.answers();
    let (before, warning) = viewer.daemon.logs_until("cannot follow the API server; trying again");
    assert_eq!(warning["level"], "WARN", "{before:?}");
    // Stale objects don't count.
    viewer.daemon.measured("setguard_inventory_synced{kind=\"DaemonSet\"} 0");
    assert!(viewer.metric("stale_seconds", "DaemonSet").is_some_and(|seconds| seconds >= 10));
    viewer.answers();
    api_server.change(|world| world.silent = false);
    api_server.apply("daemonsets", &daemon_set("shop", "new"));
    viewer.holds("DaemonSet", 3);
}

#[test]
fn a_forbidden_kind_is_reported_once_and_read_when_allowed() {
    let api_server = ApiServer::start("36");
    daemon_sets(&api_server, 2);
    api_server.change(|world| world.forbidden.insert("services"));
    let viewer = Viewer::of_workloads(&api_server);
    viewer.holds("DaemonSet", 2);
    let message = "the API server does not let setguard read this kind; its rules are silent";
    let warning = viewer.daemon.has_logged(message);
    assert_eq!(warning["fields"]["kind"], "Service");
    eventually("another attempt", || (api_server.asked("/services?") > 1).then_some(()));
    assert_eq!(viewer.metric("synced", "Service"), Some(0));
    assert_eq!(viewer.metric("synced", "DaemonSet"), Some(1));
    assert_eq!(api_server.asked("daemonsets?&limit="), 0, "the others are streamed");
    viewer.answers();
    api_server.change(|world| world.forbidden.clear());
    let (before, _) = viewer.daemon.logs_until("the API server can be followed again");
    assert!(!before.iter().any(|line| line.contains(message)), "{before:?}");
    viewer.holds("Service", 0);
    // The reverse, during a watch.
    api_server.change(|world| world.forbidden.insert("daemonsets"));
    viewer.daemon.measured("setguard_inventory_synced{kind=\"DaemonSet\"} 0");
    viewer.daemon.measured("setguard_inventory_objects{kind=\"DaemonSet\"} 0");
    assert_eq!(viewer.metric("stale_seconds", "DaemonSet"), None);
}

#[test]
fn garbage_does_no_harm() {
    let (api_server, viewer) = Viewer::of_daemon_sets("36", 2);
    let deep = format!("{{\"type\":\"ADDED\",\"object\":{}\n", "[".repeat(5000));
    let odd = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b"},"spec":7}}"#;
    for garbage in ["<html>", "{\"items\":[{},1,\"\"],\"metadata\":{}}", "\u{0}\n\n{}", &deep, odd]
    {
        api_server.change(|world| {
            world.garbage = Some(garbage.to_owned());
            world.requests.clear();
        });
        eventually("the garbage", || (api_server.asked("daemonsets?") > 1).then_some(()));
        viewer.answers();
    }
    api_server.change(|world| world.garbage = None);
    api_server.apply("daemonsets", &daemon_set("shop", "new"));
    viewer.holds("DaemonSet", 3);
}

#[test]
fn a_view_of_some_namespaces_asks_for_no_others() {
    let api_server = ApiServer::start("36");
    for namespace in ["shop", "db", "other"] {
        api_server.apply("daemonsets", &daemon_set(namespace, "agent"));
    }
    let args = ["--inventory", "full", "--inventory-namespaces", "shop,db"];
    let viewer = Viewer::start(&api_server, &args);
    viewer.holds("DaemonSet", 2);
    for kind in ["Deployment", "PodDisruptionBudget", "Service", "StatefulSet"] {
        viewer.holds(kind, 0);
    }
    let world = api_server.world();
    let lists = world.requests.iter().filter(|it| *it != "/version");
    let others: Vec<_> = lists
        .filter(|it| !it.contains("/namespaces/shop/") && !it.contains("/namespaces/db/"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
    drop(world);
    api_server.delete("daemonsets", "db", "agent");
    viewer.holds("DaemonSet", 1);
}

/// Returns whether a review reports a DaemonSet with the same selector, and whether the finding is certain.
fn overlap(viewer: &Viewer, namespace: &str) -> Option<bool> {
    let twin = with_app(daemon_set(namespace, "twin"), "agent");
    let review = crate::review::review(json!({"namespace": namespace, "object": twin}));
    let answer = viewer.review("/validate", &review).body;
    let found = answer.contains("selector-overlap") && answer.contains("DaemonSet agent");
    found.then(|| answer.contains("as of "))
}

#[test]
fn a_review_depends_on_what_is_known_and_on_how_old_that_is() {
    let api_server = ApiServer::start("36");
    for namespace in ["shop", "db"] {
        api_server.apply("daemonsets", &daemon_set(namespace, "agent"));
    }
    api_server.change(|world| world.forbidden.insert("daemonsets"));
    let args = ["--inventory", "workloads", "--inventory-namespaces", "shop"];
    let [all, some] = [&args[..2], &args].map(|args| Viewer::start(&api_server, args));
    for viewer in [&all, &some] {
        viewer.holds("Service", 0);
        assert_eq!(overlap(viewer, "shop"), None, "not allowed to know");
    }
    api_server.change(|world| world.forbidden.clear());
    for (viewer, count) in [(&all, 2), (&some, 1)] {
        viewer.holds("DaemonSet", count);
        eventually("an overlap", || overlap(viewer, "shop").filter(|old| !old));
        assert_eq!(overlap(viewer, "other"), None);
    }
    assert_eq!(overlap(&all, "db"), Some(false));
    assert_eq!(overlap(&some, "db"), None, "not watched");
    // A review doesn't change the view.
    all.holds("DaemonSet", 2);
    api_server.change(|world| world.silent = true);
    eventually("a stale view", || overlap(&all, "shop").filter(|old| *old));
    eventually("silence", || overlap(&all, "shop").is_none().then_some(()));
}

#[test]
fn without_an_api_server_to_look_for_it_does_not_start() {
    let (code, log) = crate::daemon::serve_fails(&["--inventory", "workloads"]);
    assert_eq!(code, Some(2));
    assert!(log.contains("neither a kubeconfig nor a service account"), "{log}");
}

#[test]
fn a_scale_down_waits_for_the_last_change_of_its_set() {
    let api_server = ApiServer::start("34");
    let database = |when_scaled| limits_in_cluster::database(when_scaled, 0);
    api_server.apply("statefulsets", &database("Retain"));
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.yaml");
    let text = folder::policy("limits: [{deletesClaims: false, reason: agreed}]\n");
    std::fs::write(&policy, text).unwrap();
    let args = ["--inventory", "workloads", "--policy", policy.to_str().unwrap()];
    // Under load, a faster view would go stale.
    let viewer = Viewer::start_at(4, &api_server, &args);
    viewer.holds("StatefulSet", 1);
    let ask = |version: u64, timeout: &str| {
        let mut scale = limits_in_cluster::scale("statefulsets", 3, 1);
        for object in ["object", "oldObject"] {
            scale[object]["metadata"]["resourceVersion"] = json!(version.to_string());
        }
        let review = crate::review::review(scale);
        let mut stream = viewer.client.connect(viewer.daemon.webhook).unwrap();
        post(&mut stream, &format!("/validate?timeout={timeout}"), &review).json()
    };
    let version = api_server.world().version();
    let allowed = ask(version, "5s");
    assert_eq!(allowed["response"]["allowed"], true, "{allowed}");
    let unseen = ask(version + 1, "400ms");
    assert!(unseen.to_string().contains("does not see the last change"), "{unseen}");
    assert_eq!(unseen["response"]["allowed"], false);
    let denied = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(version + 1, "30s"));
        viewer.daemon.measured("setguard_in_flight_requests 1");
        api_server.apply("statefulsets", &database("Delete"));
        asked.join().unwrap()
    });
    assert!(denied.to_string().contains("this removes db-1 and db-2"), "{denied}");
}
