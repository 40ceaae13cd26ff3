//! `setguard wait` on a real control plane: it reports each stuck rollout, and gives up on no healthy one.

mod stage;

use std::{fs::File, process::Child};

use jiff::SignedDuration;

use self::stage::{DOWN, HELD, PODS, POOR, break_things, flap, roll, set_the_stage};
use super::{
    CONTROLLERS,
    cluster::{Cluster, SHOP, stateful_set_of},
    rows,
};
use crate::prelude::*;

/// Rollouts that cannot succeed: the set, its namespace, the patience, and the message. Certain failures end the wait
/// with the default patience.
const STUCK: &str = include_str!("wait/stuck.txt");

/// Rollouts that succeed, and the result.
const HEALTHY: &str = include_str!("wait/healthy.txt");

/// The maximum time between the first event that shows the failure and the end of the wait.
const SOON: SignedDuration = SignedDuration::from_secs(15);

fn time(event: &Value) -> Timestamp {
    event["time"].as_str().and_then(|it| it.parse().ok()).expect("a time")
}

struct Wait {
    what: String,
    child: Child,
    file: tempfile::NamedTempFile,
}

impl Wait {
    fn begin(kubeconfig: &Path, what: &str, namespace: &str, more: &[&str]) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let out = File::create(file.path()).expect("a file");
        let errors = out.try_clone().expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_setguard"))
            .args(["wait", "--format", "json", "-n", namespace])
            .args(what.split(' '))
            .args(more)
            .env("KUBECONFIG", kubeconfig)
            .stdout(out)
            .stderr(errors)
            .stdin(Stdio::null())
            .spawn()
            .expect("setguard");
        Wait { what: what.to_owned(), child, file }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.file.path()).expect("its output")
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    fn until_ended(&mut self) {
        eventually(&self.what.clone(), || if self.has_ended() { Ok(()) } else { Err(self.said()) });
    }

    fn first(&self, text: &str) -> Timestamp {
        let said = self.said();
        let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let event = events.find(|it| it["message"].as_str().unwrap_or_default().contains(text));
        time(&event.unwrap_or_else(|| panic!("{}: no {text}\n{said}", self.what)))
    }

    #[track_caller]
    fn ended(&mut self, code: i32, type_: &str) -> Value {
        let (said, what) = (self.said(), &self.what);
        assert_eq!(self.child.wait().expect("an end").code(), Some(code), "{what}\n{said}");
        let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = events.rfind(|event| event["type"] == type_);
        last.unwrap_or_else(|| panic!("{what}: no {type_}\n{said}"))
    }
}

pub(super) fn told_and_passed(shared: &Namespace<'_>) {
    let plane = ControlPlane::start(&shared.control_plane.assets);
    plane.start_controllers(&[CONTROLLERS, &["resourcequota-controller"]].concat());
    plane.start_scheduler();
    let cluster = Cluster { plane: &plane, down: &[DOWN, HELD] };
    set_the_stage(&cluster);
    eventually("all pods to run", || cluster.run_pods(&[], PODS));
    break_things(&cluster);
    let kubeconfig = &plane.kubectl.kubeconfig;
    let (stuck_rows, healthy_rows) = (rows(STUCK), rows(HEALTHY));
    let begin = |[what, namespace, patience, _]: &[&str; 4]| {
        Wait::begin(kubeconfig, what, namespace, &["--patience", patience])
    };
    let mut stuck: Vec<_> = stuck_rows.iter().map(begin).collect();
    let slow = ["--patience", "1s", "--timeout", "12s"];
    let mut slow = Wait::begin(kubeconfig, "statefulset/slow", SHOP, &slow);
    roll(&cluster);
    let begin = |[what, _]: &[&str; 2]| Wait::begin(kubeconfig, what, SHOP, &["--patience", "30s"]);
    let mut healthy: Vec<_> = healthy_rows.iter().map(begin).collect();
    let mut turn = 0;
    eventually("all waits to end", || {
        let _ = cluster.run_pods(cluster.down, 0);
        turn += 1;
        flap(&cluster, turn);
        let all = stuck.iter_mut().chain(&mut healthy).chain([&mut slow]);
        let open: Vec<_> = all
            .filter_map(|it| (!it.has_ended()).then(|| format!("{}\n{}", it.what, it.said())))
            .collect();
        if open.is_empty() { Ok(()) } else { Err(open.join("\n")) }
    });
    let mut audit = cluster.audit();
    for (wait, [what, _, _, why]) in stuck.iter_mut().zip(&stuck_rows) {
        let event = wait.ended(1, "stuck");
        let message = event["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{what}: {event:#}");
        let (first, end) = (wait.first(why), time(&event));
        assert!(end.duration_since(first) <= SOON, "{what}: seen at {first}, told at {end}");
        // The audit names the same cause, but it sees only one moment of a flapping pod.
        let [kind, name] =
            ["kind", "name"].map(|key| event["object"][key].as_str().unwrap_or_default());
        let rule = event["findings"][0]["rule"].as_str().unwrap_or_default();
        let is_named = audit.contains_key(&(rule.to_owned(), format!("{kind}/{name}")));
        let is_other = *what == "statefulset/flaps";
        assert!(is_named || is_other, "{what}: {event:#}\n{audit:#?}");
    }
    // That pod is ready now, or not.
    audit.retain(|(_, object), _| object != "StatefulSet/flaps");
    cluster.agrees(&audit);
    for (wait, [what, outcome]) in healthy.iter_mut().zip(&healthy_rows) {
        assert_eq!(wait.ended(0, "done")["outcome"], *outcome, "{what}");
    }
    let end = slow.ended(3, "end");
    assert!(end["message"].as_str().is_some_and(|it| it.starts_with("timed out")), "{end}");
    repairs(&cluster);
}

/// `--repair` completes a forced rollback, and lets a waiting controller continue.
fn repairs(cluster: &Cluster<'_>) {
    let raised = json!({ "spec": { "hard": { "pods": "9" } } });
    cluster.does(&format!("patch resourcequota small -n {POOR} --type=merge -p {raised}"));
    let kubeconfig = &cluster.plane.kubectl.kubeconfig;
    let mut waits = [("statefulset/mended", SHOP), ("statefulset/quota", POOR)]
        .map(|(what, namespace)| Wait::begin(kubeconfig, what, namespace, &["--repair"]));
    eventually("the repairs", || {
        let _ = cluster.run_pods(cluster.down, 0);
        let open = waits.iter_mut().find_map(|it| (!it.has_ended()).then(|| it.said()));
        open.map_or(Ok(()), Err)
    });
    let [mended, quota] = &mut waits;
    assert_eq!(
        mended.ended(0, "repair")["message"],
        "repair: deleted pod mended-1, which held up the new revision"
    );
    assert_eq!(quota.ended(0, "done")["outcome"], "rolled-out");
}

/// A wait survives a restart of the API server, and a set without a controller has no end.
pub(super) fn restarts(shared: &Namespace<'_>) {
    let mut plane = ControlPlane::start(&shared.control_plane.assets);
    let apply = |plane: &ControlPlane, object: &Value| {
        plane.kubectl.run(&["apply", "-f", "-"], &object.to_string()).accepted();
    };
    plane.kubectl.run(&["create", "namespace", SHOP], "").accepted();
    for name in ["db", "unseen"] {
        apply(&plane, &stateful_set_of(name, "main", 1, "good:1"));
    }
    let kubeconfig = plane.kubectl.kubeconfig.clone();
    let mut unseen = Wait::begin(&kubeconfig, "sts/unseen", SHOP, &["--patience", "1s"]);
    unseen.until_ended();
    let why = unseen.ended(1, "stuck").to_string();
    assert!(why.contains("no controller has seen"), "{why}");

    let mut wait = Wait::begin(&kubeconfig, "sts/db", SHOP, &["--patience", "1h"]);
    let says = |wait: &mut Wait, text: &str| {
        eventually(text, || if wait.said().contains(text) { Ok(()) } else { Err(wait.said()) });
    };
    says(&mut wait, "has not seen generation 1 yet");
    plane.stop_api_server();
    says(&mut wait, "cannot follow the cluster, trying again: ");
    plane.start_api_server(&[]);
    says(&mut wait, "the cluster can be followed again");
    // The controller's part.
    let uid = format!("get sts db -n {SHOP} -o jsonpath={{.metadata.uid}}");
    let uid = plane.kubectl.run(&words(&uid), "").accepted().stdout;
    let owner = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": uid, "controller": true });
    let labels = json!({ "app": "db", "controller-revision-hash": "db-1" });
    apply(
        &plane,
        &json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "db-0", "namespace": SHOP, "labels": labels, "ownerReferences": [owner] },
            "spec": { "containers": [{ "name": "main", "image": "good:1" }] },
        }),
    );
    let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    let status = json!({ "status": {
        "observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "updatedReplicas": 1, "currentRevision": "db-1", "updateRevision": "db-1",
    }});
    for (object, patch) in [("pod/db-0", ready), ("sts/db", &status.to_string())] {
        let args = ["patch", object, "-n", SHOP, "--subresource=status", "--type=merge", "-p"];
        plane.kubectl.run(&[&args, [patch].as_slice()].concat(), "").accepted();
    }
    wait.until_ended();
    assert_eq!(wait.ended(0, "done")["outcome"], "rolled-out");
}

/// The rights in examples/rollouts/wait-rbac.yaml suffice to read everything and to repair.
pub(super) fn rights(namespace: &Namespace<'_>) {
    let rules = include_str!("../../../../examples/rollouts/wait-rbac.yaml");
    let kubectl = &namespace.control_plane.kubectl;
    kubectl.run(&["apply", "-f", "-"], rules).accepted();
    namespace.bind("ClusterRole", "setguard-wait", "waiter");
    let mut set = crate::manifests::stateful_set("db");
    crate::manifests::add_claim(&mut set, None, "1Gi");
    namespace.apply(&set).accepted();
    let kubeconfig = namespace.kubeconfig_as("waiter");
    let run = |more: &[&str]| {
        let mut wait = Wait::begin(&kubeconfig, "sts/db", namespace.name, more);
        wait.until_ended();
        wait
    };
    // No controller observes the set here.
    let mut wait = run(&["--timeout", "2s"]);
    wait.ended(3, "unfinished");
    assert!(!wait.said().contains("\"note\""), "{}", wait.said());
    for (verb, resource) in [("patch", "statefulsets.apps"), ("delete", "pods")] {
        let can = namespace.does(&format!("auth can-i {verb} {resource} --as waiter"));
        assert_eq!(can.stdout.trim(), "yes", "{verb} {resource}");
    }
}
