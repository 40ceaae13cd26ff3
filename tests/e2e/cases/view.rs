//! The view of the cluster: a warning names the other object, and a failing view does no harm.

use futures::{StreamExt as _, stream};
use k8s_openapi::api::apps::v1::DaemonSet;

use crate::prelude::*;
use crate::{harness::control_plane::RESTRICTED, link::Link, numbers};

pub(super) const CASES: &[Case] = &[
    Case::new("the-view-names-the-other-object", names),
    Case::new("what-is-applied-together-needs-no-order", together),
    Case::new("a-kind-that-may-not-be-read-is-left-out", forbidden),
    Case::new("a-view-that-is-cut-off-grows-old", cut_off),
    Case::new("a-view-of-5000-objects-outlives-the-api-server", large),
];

fn agent(namespace: &Namespace<'_>, name: &str) -> Value {
    let mut set = daemon_set(name);
    let port = 9000 + namespace.name.len();
    set["spec"]["template"]["spec"]["containers"][0]["ports"] =
        json!([{"containerPort": port, "hostPort": port}]);
    set
}

fn warned(namespace: &Namespace<'_>, name: &str, flags: &[&str]) -> Vec<String> {
    let args = [&["apply", "-f", "-"], flags].concat();
    let output = namespace.kubectl(&args, &agent(namespace, name).to_string()).accepted();
    let about = output.stderr.lines().filter(|line| line.contains("DaemonSet first"));
    let rules = about.filter_map(|line| line.strip_prefix("Warning: ")?.split(':').next());
    rules.map(str::to_owned).collect()
}

fn warns(namespace: &Namespace<'_>, expected: bool) -> String {
    let args = ["apply", "--dry-run=server", "-f", "-"];
    let probe = agent(namespace, "probe").to_string();
    let ask = || namespace.kubectl(&args, &probe).accepted().stderr;
    becomes(&format!("warnings: {expected}"), ask, |it| it.contains("selector-overlap") == expected)
}

fn names(namespace: &Namespace<'_>) {
    viewer::allow(namespace, SETGUARD, &[]);
    let viewer = Viewer::start(namespace, &namespace.control_plane.setguard_kubeconfig());
    viewer.knows_all();
    node::create(namespace, "node-of-the-view", None);
    let of_others = viewer.metric("objects", "DaemonSet");
    for _ in 0..3 {
        // A dry run stores nothing, so the next one finds nothing.
        assert_eq!(warned(namespace, "first", &["--dry-run=server"]), [""; 0]);
    }
    namespace.apply(&agent(namespace, "first")).silently();
    warns(namespace, true);
    let both = ["selector-overlap", "host-port-conflict"];
    for flags in [&["--dry-run=server"][..], &[], &["--server-side", "--force-conflicts"]] {
        let rules = warned(namespace, "second", flags);
        assert!(both.iter().all(|rule| rules.iter().any(|it| it == rule)), "{flags:?}: {rules:?}");
    }
    let mut set = stateful_set("db");
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "quantum"});
    // The set depends on its Service for the pods' DNS names.
    set["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--join=db-0.db:7000"]);
    let output = namespace.dry_run(&set);
    // The same apply may create its Service.
    assert!(!output.stderr.contains("service-missing"), "{}", output.stderr);
    output.with_warning("no-node-matches");
    file(namespace, &set);
    namespace.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"clusterIP": "None", "selector": {"app": "e2e"}},
    }));
    let again = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    let ask = || namespace.kubectl(&again, &set.to_string());
    becomes("the Service to be seen", ask, |output| !output.stderr.contains("service-missing"));
    namespace.does("delete statefulset/db daemonset/first daemonset/second").silently();
    warns(namespace, false);
    // Other cases may have created some in the meantime.
    assert!(viewer.metric("objects", "DaemonSet") >= of_others);
}

fn file(namespace: &Namespace<'_>, set: &Value) {
    let objects = [&agent(namespace, "first"), &agent(namespace, "second"), set];
    let file = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let output = namespace.kubectl(&["apply", "-f", "-"], &file).accepted();
    assert!(!output.stderr.contains("service-missing"), "{}", output.stderr);
    let args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    let ask = || namespace.kubectl(&args, &file).accepted();
    becomes("all warnings", ask, |output| {
        let has = |rule: &str, name: &str| {
            let mut lines = output.stderr.lines();
            lines.any(|line| line.starts_with(&format!("Warning: {rule}")) && line.contains(name))
        };
        let all = ["first", "second"].iter().all(|name| {
            let other = format!("DaemonSet {name}");
            has("selector-overlap", &other) && has("host-port-conflict", &other)
        });
        all && has("service-missing", "") && has("no-node-matches", "")
    });
}

fn together(namespace: &Namespace<'_>) {
    viewer::allow(namespace, SETGUARD, &[]);
    let viewer = Viewer::start(namespace, &namespace.control_plane.setguard_kubeconfig());
    viewer.knows_all();
    let name = namespace.name;
    let mut set = stateful_set("db");
    let pod = &mut set["spec"]["template"]["spec"];
    pod["priorityClassName"] = json!(name);
    pod["containers"][0]["args"] = json!(["--join=db-0.db:7000"]);
    set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": name,
        "resources": {"requests": {"storage": "1Gi"}}}}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"clusterIP": "None", "selector": {"app": "e2e"}}});
    let priority = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": 1000});
    let storage = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name}, "provisioner": "example.com/none"});
    let file =
        |items: &[&Value]| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let missing = |stderr: &str| {
        let rules =
            stderr.lines().filter_map(|line| line.strip_prefix("Warning: ")?.split(':').next());
        rules.filter(|rule| rule.ends_with("-missing")).count()
    };
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let alone = namespace.kubectl(&apply, &set.to_string()).accepted();
    assert_eq!(missing(&alone.stderr), 0, "{}", alone.stderr);
    // If the objects are still missing at a change, a warning names each.
    let again = namespace.kubectl(&apply, &set.to_string()).accepted();
    assert_eq!(missing(&again.stderr), 3, "{}", again.stderr);
    namespace.kubectl(&["delete", "statefulset/db"], "").silently();
    let all = file(&[&set, &service, &priority, &storage]);
    let output = namespace.kubectl(&apply, &all).accepted();
    assert_eq!(missing(&output.stderr), 0, "{}", output.stderr);
    let ask = || namespace.kubectl(&apply, &all).accepted();
    becomes("all to be seen", ask, |output| missing(&output.stderr) == 0);
    namespace.does(&format!("delete priorityclass/{name} storageclass/{name}"));
}

fn forbidden(namespace: &Namespace<'_>) {
    viewer::allow(namespace, RESTRICTED, &["daemonsets"]);
    let kubeconfig = namespace.control_plane.kubeconfig(RESTRICTED, RESTRICTED);
    let viewer = Viewer::start(namespace, &kubeconfig);
    viewer.is("Service", "fresh");
    viewer.is("DaemonSet", "unknown");
    namespace.apply(&agent(namespace, "first")).silently();
    assert_eq!(warned(namespace, "second", &["--dry-run=server"]), [""; 0]);
    viewer::allow(namespace, RESTRICTED, &[]);
    viewer.is("DaemonSet", "fresh");
    warns(namespace, true);
    // Revoked during a watch.
    viewer::allow(namespace, RESTRICTED, &["daemonsets"]);
    viewer.is("DaemonSet", "unknown");
    warns(namespace, false);
    let said = "the API server does not let setguard read this kind";
    assert_eq!(viewer.log().matches(said).count(), 2, "once for each time: {}", viewer.log());
}

fn cut_off(namespace: &Namespace<'_>) {
    viewer::allow(namespace, SETGUARD, &[]);
    let control_plane = namespace.control_plane;
    let link = Link::to(control_plane.port);
    let viewer = Viewer::start(namespace, &control_plane.setguard_kubeconfig_through(link.port));
    viewer.knows_all();
    namespace.apply(&agent(namespace, "first")).silently();
    warns(namespace, true);
    // The view replaces a broken connection, and misses nothing.
    link.cut();
    namespace.kubectl(&["delete", "daemonset/first"], "").silently();
    warns(namespace, false);
    namespace.apply(&agent(namespace, "first")).silently();
    assert!(!warns(namespace, true).contains("as of "));
    // The view must notice a silent connection.
    link.silence();
    viewer.is("DaemonSet", "stale");
    assert!(warns(namespace, true).contains("as of "));
    viewer.is("DaemonSet", "unknown");
    warns(namespace, false);
    link.cut();
    viewer.knows_all();
    assert!(!warns(namespace, true).contains("as of "));
}

const MANY: usize = 5000;

fn large(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    let crowd = Namespace::create(&control_plane, "crowd");
    let shop = Namespace::create(&control_plane, "shop");
    viewer::allow(&shop, SETGUARD, &[]);
    let before = Viewer::start(&shop, &control_plane.setguard_kubeconfig());
    before.knows_all();
    fill(&crowd);
    shop.apply(&agent(&shop, "first")).silently();

    // One server that watched the objects arrive, and one that starts with them.
    let after = Viewer::start(&shop, &control_plane.setguard_kubeconfig());
    // The second server answers from the start.
    assert!(warned(&shop, "second", &["--dry-run=server"]).len() <= 2);
    let all = Some(MANY as u64 + 1);
    for viewer in [&before, &after] {
        viewer.knows_all();
        let count = || viewer.metric("objects", "DaemonSet").unwrap_or(0);
        becomes("all objects", count, |it| Some(*it) == all);
    }
    assert!(!after.log().contains("asking for pages"), "{}", after.log());
    warns(&shop, true);

    // Without an API server no requests arrive, and the view ages. An API server that does not stream lists then
    // continues the watch.
    control_plane.stop_api_server();
    for state in ["stale", "unknown"] {
        for viewer in [&before, &after] {
            viewer.is("DaemonSet", &format!("{state}, 5001 objects"));
        }
    }
    control_plane.start_api_server(&["--feature-gates=WatchList=false"]);
    let shop = Namespace { control_plane: &control_plane, name: "shop" };
    let third = Viewer::start(&shop, &control_plane.setguard_kubeconfig());
    for viewer in [&before, &after, &third] {
        viewer.knows_all();
        assert_eq!(viewer.metric("objects", "DaemonSet"), all);
    }
    // setguard requests streams from 1.34 on, the first release with streams on by default.
    let asked = control_plane.minor() >= 34;
    assert_eq!(third.log().contains("asking for pages"), asked, "{}", third.log());
    assert!(warns(&shop, true).contains("DaemonSet first"));
    for viewer in [&before, &after, &third] {
        let peak = numbers::memory(viewer.0.process.id(), "VmHWM").expect("a peak");
        assert!(peak < 100.0, "{peak} MiB");
    }
}

fn fill(namespace: &Namespace<'_>) {
    let kubeconfig = &namespace.control_plane.kubectl.kubeconfig;
    client::block_on(async {
        let api: Api<DaemonSet> = Api::namespaced(client::of(kubeconfig).await, namespace.name);
        let create = |i: usize| {
            let (api, name) = (api.clone(), format!("agent-{i}"));
            let set = serde_json::from_value(with_app(daemon_set(&name), &name));
            let set = set.expect("a DaemonSet");
            async move { api.create(&PostParams::default(), &set).await.map(drop) }
        };
        let mut created = stream::iter((0..MANY).map(create)).buffer_unordered(16);
        while let Some(result) = created.next().await {
            result.expect("a new DaemonSet");
        }
    });
}
