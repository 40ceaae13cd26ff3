//! `setguard wait`, against a stand-in for the API server.

mod breaks;

use std::{io::BufRead as _, process::ChildStdout};

use crate::api_server::Cluster;
use crate::prelude::*;

struct Waiting {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Cluster {
    fn rolling() -> Self {
        Cluster::of("wait", "37")
    }

    #[track_caller]
    fn events(&self, code: i32, args: &[&str]) -> Vec<Value> {
        let ran = self.run(&[&["--format", "json"], args].concat()).ends(code);
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Adds a set and its pods, all ready.
    fn done(&self, set: &Value) -> &Self {
        for ordinal in 0..3 {
            let name = format!("{}-{ordinal}", set["metadata"]["name"].as_str().unwrap());
            self.has("pods", &pod(&name, "new", "", ""));
        }
        self.has("statefulsets", set)
    }

    fn annotation(&self, name: &str) -> Value {
        let set = self.api_server.get("statefulsets", "shop", "db").unwrap();
        set["metadata"]["annotations"][format!("setguard.io/{name}")].clone()
    }

    fn begin(&self, args: &[&str]) -> Waiting {
        let mut command = self.command(&[&["--format", "json"], args].concat());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("setguard");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Waiting { child, lines }
    }
}

impl Waiting {
    #[track_caller]
    fn says(&mut self, type_: &str, text: &str) -> Value {
        let mut others = Vec::new();
        for line in self.lines.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if event["type"] == type_ && event["message"].as_str().unwrap().contains(text) {
                return event;
            }
            others.push(event);
        }
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("no {type_} with {text:?}, but {others:#?}\n{said}")
    }

    #[track_caller]
    fn ends_with(mut self, code: i32) {
        self.lines.by_ref().for_each(drop);
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
    }
}

fn now() -> String {
    Timestamp::now().to_string()
}

pub fn set(name: &str, ready: i32, updated: i32) -> Value {
    let text = include_str!("../fixtures/wait/set.txt").replace("NAME", name);
    let mut set: Value = serde_json::from_str(&text).unwrap();
    set["status"]["readyReplicas"] = json!(ready);
    set["status"]["availableReplicas"] = json!(ready);
    set["status"]["updatedReplicas"] = json!(updated);
    set["status"]["currentRevision"] = json!(if updated == 3 { "new" } else { "old" });
    set
}

/// A pod of a set. It is ready without a reason.
pub fn pod(name: &str, revision: &str, reason: &str, message: &str) -> Value {
    let (set, _) = name.rsplit_once('-').unwrap();
    let is_ready = reason.is_empty();
    let text = include_str!("../fixtures/wait/pod.txt").replace("NAME", name).replace("SET", set);
    let mut pod: Value = serde_json::from_str(&text).unwrap();
    pod["metadata"]["labels"]["controller-revision-hash"] = json!(revision);
    let status = &mut pod["status"];
    status["containerStatuses"][0]["ready"] = json!(is_ready);
    if !is_ready {
        status["phase"] = json!("Pending");
        status["conditions"][0]["status"] = json!("False");
        status["containerStatuses"][0]["state"] =
            json!({"waiting": {"reason": reason, "message": message}});
    }
    pod
}

/// A revision of a set, with the template of this one.
pub fn revision(set: &str, name: &str, number: u8, of: &Value) -> Value {
    let owner = pod(&format!("{set}-0"), "", "", "")["metadata"]["ownerReferences"].take();
    json!({
        "kind": "ControllerRevision", "revision": number,
        "metadata": {"name": name, "namespace": "shop", "ownerReferences": owner},
        "data": {"spec": {"template": of["spec"]["template"]}},
    })
}

fn with_bad_image(revision: &str) -> Cluster {
    let cluster = Cluster::rolling();
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let node = json!({"metadata": {"name": "n0"}, "status": {"conditions": ready}});
    cluster
        .has("nodes", &node)
        .has("statefulsets", &set("db", 2, i32::from(revision == "new")))
        .has("pods", &pod("db-0", "old", "", ""))
        .has("pods", &pod("db-1", "old", "", ""))
        .has("pods", &pod("db-2", revision, "ImagePullBackOff", "bad:2: not found"));
    cluster
}

#[test]
fn a_set_that_is_rolled_out_is_a_line_and_exit_code_0() {
    let cluster = Cluster::rolling();
    cluster.done(&set("db", 3, 3));
    let ran = cluster.run(&["statefulset/db", "-n", "shop"]).ends(0).reports_only("");
    let lines: Vec<_> = ran.stdout.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert!(lines.iter().all(|(time, _)| time.parse::<Timestamp>().is_ok()), "{lines:?}");
    let text: Vec<_> = lines.iter().map(|(_, text)| *text).collect();
    let set = "statefulset/db -n shop: rolled out: 3 of 3 updated, 3 of 3 ready";
    assert_eq!(text, [set, "1 set is done"]);
}

#[test]
fn each_change_is_an_event_until_the_end() {
    let cluster = Cluster::rolling();
    cluster.has("statefulsets", &set("db", 2, 1));
    cluster.has("pods", &pod("db-0", "old", "", "")).has("pods", &pod("db-1", "old", "", ""));
    cluster.has("pods", &pod("db-2", "new", "ContainerCreating", ""));
    let mut waiting = cluster.begin(&["sts/db", "-n", "shop"]);
    let event = waiting.says("progress", "1 of 3 updated, 2 of 3 ready; db-2 is not ready");
    assert_eq!((&event["pod"], &event["toUpdate"]), (&json!("db-2"), &json!(3)));
    assert_eq!(event["object"]["kind"], "StatefulSet");
    cluster.has("pods", &pod("db-2", "new", "", "")).has("statefulsets", &set("db", 3, 2));
    waiting.says("progress", "2 of 3 updated, 3 of 3 ready");
    cluster.done(&set("db", 3, 3));
    assert_eq!(waiting.says("done", "rolled out")["outcome"], "rolled-out");
    waiting.says("end", "1 set is done");
    waiting.ends_with(0);
}

#[test]
fn what_cannot_succeed_ends_early_with_the_diagnosis_and_the_command() {
    let cluster = with_bad_image("new");
    cluster.done(&set("cache", 3, 3));
    let args = ["sts/db", "sts/cache", "-n", "shop", "--patience", "1s"];
    let events = cluster.events(1, &args);
    let stuck = events.iter().find(|it| it["type"] == "stuck").unwrap();
    let message = stuck["message"].as_str().unwrap();
    assert!(message.starts_with("cannot succeed: 1 of 3 updated, 2 of 3 ready; db-2"), "{message}");
    let finding = &stuck["findings"][0];
    assert_eq!(finding["rule"], "rollout-stuck-at-ordinal");
    assert!(finding["commands"][0]["run"].as_str().unwrap().starts_with("kubectl "), "{finding}");
    let end = events.last().unwrap();
    assert_eq!(
        (&end["type"], &end["message"]),
        (&json!("end"), &json!("1 of 2 sets cannot succeed"))
    );

    let ran = cluster.run(&args).ends(1);
    let text = ran.stdout;
    assert!(text.contains(": cannot succeed: 1 of 3 updated, 2 of 3 ready\n"), "{text}");
    assert!(text.contains("error[rollout-stuck-at-ordinal]: "), "{text}");
}

#[test]
fn the_diagnosis_is_the_one_in_the_documentation() {
    let cluster = with_bad_image("new");
    let message = "Back-off pulling image \"db:bad-1.5\": ErrImagePull: manifest unknown";
    cluster.has("pods", &pod("db-2", "new", "ImagePullBackOff", message));
    let text = cluster.run(&["sts/db", "-n", "shop", "--patience", "1s"]).ends(1).stdout;
    let page = include_str!("../../docs/stuck-rollouts.md");
    for beginning in ["error[", " = effect: "] {
        let line = text.lines().find(|line| line.starts_with(beginning)).expect(beginning);
        assert!(page.contains(line), "docs/stuck-rollouts.md: {line}");
    }
}

#[test]
fn the_time_is_up_with_a_code_of_its_own() {
    let cluster = Cluster::rolling();
    cluster.has("statefulsets", &set("db", 2, 1));
    cluster.has("pods", &pod("db-2", "new", "ContainerCreating", ""));
    let events = cluster.events(3, &["sts/db", "-n", "shop", "--timeout", "1s"]);
    let [.., unfinished, end] = &events[..] else { panic!("{events:#?}") };
    assert_eq!(unfinished["type"], "unfinished");
    assert_eq!(end["message"], "timed out after 1s: 1 of 1 set not rolled out");
}

#[test]
fn a_repair_is_done_only_if_it_is_asked_for() {
    let cluster = with_bad_image("old");
    let args = ["sts/db", "-n", "shop", "--patience", "1s"];
    cluster.events(1, &args);
    assert!(cluster.api_server.get("pods", "shop", "db-2").is_some());

    let mut waiting = cluster.begin(&[&args, ["--repair"].as_slice()].concat());
    let event = waiting.says("repair", "deleted pod db-2");
    assert_eq!(event["object"]["name"], "db");
    assert!(cluster.api_server.get("pods", "shop", "db-2").is_none());
    cluster.has("pods", &pod("db-2", "new", "", "")).done(&set("db", 3, 3));
    waiting.ends_with(0);
}

#[test]
fn a_controller_that_waits_is_made_to_try_only_if_it_is_asked_for() {
    let cluster = Cluster::rolling();
    let mut lacking = set("db", 2, 0);
    lacking["status"]["replicas"] = json!(2);
    let seconds = Timestamp::now().as_second();
    let then = Timestamp::from_second(seconds - 300).unwrap().to_string();
    let refusal = json!({
        "metadata": {"name": "e", "namespace": "shop", "creationTimestamp": then},
        "involvedObject": {"kind": "StatefulSet", "name": "db", "namespace": "shop"},
        "reason": "FailedCreate", "message": "pods \"db-2\" is forbidden: exceeded quota: small",
        "firstTimestamp": then, "lastTimestamp": then,
    });
    cluster.has("statefulsets", &lacking).has("events", &refusal);
    let annotation = || cluster.annotation("try-again");
    // The quota may have grown since, so this is no reason to give up.
    let args = ["sts/db", "-n", "shop", "--timeout", "2s", "--patience", "1s"];
    cluster.events(3, &args);
    assert_eq!(annotation(), Value::Null);
    let mut waiting = cluster.begin(&["sts/db", "-n", "shop", "--repair", "--patience", "1s"]);
    waiting.says("repair", "so that the controller tries now");
    assert!(annotation().is_string());
    let mut again = refusal;
    again["lastTimestamp"] = json!(now());
    cluster.has("events", &again);
    waiting.says("stuck", "exceeded quota");
    waiting.ends_with(1);
}

#[test]
fn the_reason_is_an_annotation_as_long_as_it_holds_if_that_is_asked_for() {
    let cluster = with_bad_image("new");
    let args = ["sts/db", "-n", "shop", "--patience", "1s"];
    let annotation = || cluster.annotation("stuck");
    cluster.events(1, &args);
    assert_eq!(annotation(), Value::Null);
    let args = [&args, ["--annotate"].as_slice()].concat();
    cluster.events(1, &args);
    let text = annotation();
    let start = "2: db-2 is not ready: ImagePullBackOff: ";
    assert!(text.as_str().is_some_and(|it| it.starts_with(start)), "{text}");
    let mut done = set("db", 3, 3);
    done["metadata"]["annotations"] = json!({"setguard.io/stuck": text});
    cluster.done(&done);
    cluster.events(0, &args);
    assert_eq!(annotation(), Value::Null);
}

#[test]
fn a_known_obstacle_is_written_once() {
    let cluster = with_bad_image("new");
    let mut command = cluster.command(&["sts/db", "-n", "shop"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("setguard");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(": 1 of 3 updated, 2 of 3 ready; db-2 is not ready: "), "{first}");
    cluster.has("statefulsets", &set("db", 2, 2));
    let second = lines.next().unwrap().unwrap();
    assert!(second.ends_with(": 2 of 3 updated, 2 of 3 ready"), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn sets_are_named_in_manifests_and_by_releases() {
    let cluster = Cluster::rolling();
    let mut of_release = set("cache", 3, 3);
    of_release["metadata"]["annotations"] = json!({
        "meta.helm.sh/release-name": "front", "meta.helm.sh/release-namespace": "web",
    });
    cluster.done(&set("db", 3, 3)).done(&of_release);
    let names = |events: &[Value]| -> Vec<String> {
        let done = events.iter().filter(|it| it["type"] == "done");
        done.map(|it| it["object"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let manifest = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}\n\
                    ---\napiVersion: v1\nkind: Service\nmetadata: {name: db}\n";
    cluster.folder.write("deploy/db.yaml", manifest.as_bytes());
    assert_eq!(names(&cluster.events(0, &["-f", "deploy"])), ["db"]);
    assert_eq!(names(&cluster.events(0, &["--for-release", "front", "-n", "web"])), ["cache"]);
    let both = ["sts/db", "-n", "shop", "-f", "deploy"];
    assert_eq!(names(&cluster.events(0, &both)), ["db"], "once");
    cluster.run(&["-l", "app=db", "-n", "shop"]);
    assert_eq!(cluster.api_server.asked("labelSelector=app%3Ddb"), 2);
}

#[test]
fn what_is_not_there_is_an_error() {
    let cluster = Cluster::rolling();
    let error = |args: &[&str]| {
        let ran = cluster.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        ran.stderr
    };
    let why = error(&["sts/db", "-n", "shop"]);
    assert!(why.contains("there is no StatefulSet db in namespace shop"), "{why}");
    let why = error(&["--for-release", "front", "-n", "shop"]);
    assert!(why.contains("--allow-none"), "{why}");
    assert!(error(&[]).contains("required"));
    assert!(error(&["deployment/db"]).contains("statefulset or daemonset"));
    cluster.folder.write("broken.yaml", b"kind: [");
    assert!(error(&["-f", "broken.yaml"]).contains("broken.yaml:"));
    cluster.run(&["--for-release", "front", "-n", "shop", "--allow-none"]).ends(0);
}

#[test]
fn a_daemon_set_without_a_node_is_not_rolled_out_unless_that_is_allowed() {
    let cluster = Cluster::rolling();
    let daemon_set = json!({
        "metadata": {"name": "gpu", "namespace": "shop", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "gpu"}},
            "template": {"spec": {"nodeSelector": {"gpu": "yes"}}},
        },
        "status": {"observedGeneration": 1, "desiredNumberScheduled": 0},
    });
    cluster.has("daemonsets", &daemon_set).has("nodes", &json!({"metadata": {"name": "n0"}}));
    let events = cluster.events(1, &["ds/gpu", "-n", "shop", "--patience", "1s"]);
    let stuck = events.iter().find(|it| it["type"] == "stuck").unwrap();
    let message = stuck["message"].as_str().unwrap();
    assert!(message.contains("of 1 node, 1 without the label gpu=yes"), "{message}");
    cluster.events(0, &["ds/gpu", "-n", "shop", "--allow-none"]);
}
