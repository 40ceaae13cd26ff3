//! The recipes for `setguard wait`: the Helm hook in examples/rollouts with its Job as a pod, and the GitHub workflow
//! steps in docs/stuck-rollouts.md.

use std::process::Child;

use super::{
    CONTROLLERS,
    cluster::{Cluster, SHOP, stateful_set_of},
};
use crate::harness::process::leashed;
use crate::prelude::*;

const PAGE: &str = include_str!("../../../../docs/stuck-rollouts.md");

const HOOK: &str = include_str!("../../../../examples/rollouts/helm-hook.yaml");

const RIGHTS: &str = include_str!("../../../../examples/rollouts/wait-rbac.yaml");

fn steps_of_page() -> Vec<&'static str> {
    let (_, rest) = PAGE.split_once("```yaml\n- run: ").expect("the steps");
    let (steps, _) = rest.split_once("```").expect("their end");
    steps.split("\n- run: ").filter_map(|step| step.lines().next()).collect()
}

/// The rights as a Role of the namespace, with its ServiceAccount.
fn rights() -> String {
    let rules = RIGHTS.replace("kind: ClusterRole", "kind: Role");
    let rules = rules.replace(", nodes, persistentvolumes", "");
    let (first, rest) = rules.split_once("- apiGroups: [storage.k8s.io]").expect("a rule");
    let (_, rest) = rest.split_once("# Only").expect("the next rule");
    let role = format!("{first}# Only{rest}").replace("setguard-wait", "{{ .Release.Name }}-wait");
    format!(
        "{role}---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: \"{{{{ .Release.Name }}}}-wait\"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: \"{{{{ .Release.Name }}}}-wait\"}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: \"{{{{ .Release.Name }}}}-wait\"}}
subjects: [{{kind: ServiceAccount, name: \"{{{{ .Release.Name }}}}-wait\", namespace: \"{{{{ .Release.Namespace }}}}\"}}]
"
    )
}

fn set(image: &str) -> Value {
    stateful_set_of("db", "main", 2, image)
}

pub(super) fn run_for_real(shared: &Namespace<'_>) {
    let plane = ControlPlane::start(&shared.control_plane.assets);
    plane.start_controllers(&[CONTROLLERS, &["job-controller"]].concat());
    plane.start_scheduler();
    let cluster = Cluster { plane: &plane, down: &[] };
    cluster.node("n0", "main", None);
    cluster.namespace(SHOP, &json!({}));
    workflow(&cluster);
    cluster.kubectl(&["delete", "statefulset", "db", "-n", SHOP], "").accepted();
    let pods = ["get", "pods", "-n", SHOP, "-o", "name"];
    cluster.until("its pods to be gone", &pods, str::is_empty);
    hook(&cluster);
}

/// Runs the steps like GitHub's runner: each is a bash file that fails on the first failing command.
fn workflow(cluster: &Cluster<'_>) {
    let steps = steps_of_page();
    let [apply, wait] = &*steps else { panic!("two steps: {steps:?}") };
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_setguard")).parent().expect("its folder");
    let path = path_with([program.to_owned(), cluster.plane.assets.clone()]);
    fs::create_dir(folder.path().join("deploy")).expect("a folder");
    let run = |image: &str| {
        let manifest = folder.path().join("deploy/db.yaml");
        fs::write(manifest, set(image).to_string()).expect("a manifest");
        let step = |flags: &[&str], text: &str| {
            let file = folder.path().join("step.sh");
            fs::write(&file, text).expect("a file");
            let child = Command::new("bash")
                .args(flags)
                .arg(&file)
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("KUBECONFIG", &cluster.plane.kubectl.kubeconfig)
                .env("HOME", folder.path())
                .stdout(Stdio::null())
                .spawn();
            finish(cluster, child.expect("bash"))
        };
        assert_eq!(step(&["-e"], apply), 0);
        let code = step(&["--noprofile", "--norc", "-eo", "pipefail"], wait);
        let log = fs::read_to_string(folder.path().join("wait.jsonl")).expect("the log");
        (code, log)
    };
    let (code, log) = run("good:1");
    assert!(code == 0 && log.contains("\"outcome\":\"rolled-out\""), "{code} {log}");
    let (code, log) = run("bad:2");
    assert!(code == 1 && log.contains("\"type\":\"stuck\""), "{code} {log}");
}

fn finish(cluster: &Cluster<'_>, mut child: Child) -> i32 {
    let status = eventually("a program to end", || {
        let _ = cluster.run_pods(&[], 0);
        child.try_wait().expect("a child").ok_or("it runs")
    });
    status.code().unwrap_or(-1)
}

/// Installs the chart, and upgrades it to a missing image. Helm waits for the hook's Job.
fn hook(cluster: &Cluster<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let templates = folder.path().join("templates");
    fs::create_dir(&templates).expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n");
    write("templates/wait.yaml", HOOK);
    write("templates/rights.yaml", &rights());
    let mut kubelet = JobKubelet { cluster, folder: folder.path(), pods: HashMap::new() };

    write("templates/db.yaml", &set("good:1").to_string());
    let (code, said) = kubelet.helm();
    assert_eq!(code, 0, "{said}\n{}", kubelet.logs());
    assert!(kubelet.logs().contains("statefulset/db -n shop: rolled out"), "{}", kubelet.logs());

    write("templates/db.yaml", &set("bad:2").to_string());
    let (code, said) = kubelet.helm();
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("post-upgrade hooks failed"), "{said}");
    let logs = kubelet.logs();
    assert!(
        logs.contains("rollout-stuck-at-ordinal") && logs.contains("bad:2: not found"),
        "{logs}"
    );
    let job = cluster.kubectl(&["get", "job", "shop-wait", "-n", SHOP, "-o", "json"], "").json();
    assert_eq!(job["status"]["failed"], 1, "it stays for its log: {job}");
}

/// A kubelet for the pods of Jobs: runs the program as a process, with the pod's identity.
struct JobKubelet<'a> {
    cluster: &'a Cluster<'a>,
    folder: &'a Path,
    /// The processes by pod name; `None` for an ended process.
    pods: HashMap<String, Option<Child>>,
}

impl JobKubelet<'_> {
    fn helm(&mut self) -> (i32, String) {
        let helm = helm::find().expect("helm");
        let log = self.folder.join("helm.log");
        let file = fs::File::create(&log).expect("a file");
        let mut child = Command::new(helm)
            .args(["upgrade", "--install", "shop", ".", "-n", SHOP])
            .current_dir(self.folder)
            .env("KUBECONFIG", &self.cluster.plane.kubectl.kubeconfig)
            .env("HOME", &self.cluster.plane.kubectl.home)
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .spawn()
            .expect("helm");
        let status = eventually("helm to end", || {
            let _ = self.cluster.run_pods(&[], 0);
            self.round();
            child.try_wait().expect("a child").ok_or_else(|| self.logs())
        });
        (status.code().unwrap_or(-1), fs::read_to_string(log).expect("a log"))
    }

    fn logs(&self) -> String {
        let logs = self.pods.keys().map(|name| self.folder.join(name));
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    fn round(&mut self) {
        let args = ["get", "pods", "-n", SHOP, "-l", "job-name", "-o", "json"];
        let list = self.cluster.kubectl(&args, "").json();
        for pod in list["items"].as_array().into_iter().flatten() {
            let name = pod["metadata"]["name"].as_str().expect("a name").to_owned();
            if pod["spec"]["nodeName"].is_null() {
                continue;
            }
            if !self.pods.contains_key(&name) {
                let process = self.start(pod, &name);
                self.pods.insert(name.clone(), Some(process));
            }
            let Some(slot) = self.pods.get_mut(&name) else { continue };
            let ended = slot.as_mut().and_then(|it| it.try_wait().expect("a child"));
            if let Some(status) = ended {
                *slot = None;
                let phase = if status.success() { "Succeeded" } else { "Failed" };
                let end = json!({ "exitCode": status.code(), "reason": phase });
                let containers = json!([{
                    "name": "wait", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                    "state": { "terminated": end, "running": null },
                }]);
                let status = json!({ "phase": phase, "containerStatuses": containers });
                self.cluster.patch_status(&format!("pod/{name}"), SHOP, &status);
            }
        }
    }

    /// Starts the program with the container's arguments and the token of the pod's ServiceAccount.
    fn start(&self, pod: &Value, name: &str) -> Child {
        let spec = &pod["spec"];
        let account = spec["serviceAccountName"].as_str().expect("an account");
        let token = self.cluster.kubectl(&["create", "token", account, "-n", SHOP], "").accepted();
        let kubeconfig = self.cluster.plane.kubeconfig(name, token.stdout.trim());
        let container = &spec["containers"][0];
        assert!(container["command"].is_null(), "the program of the image runs: {container}");
        let args = container["args"].as_array().expect("arguments");
        let file = fs::File::create(self.folder.join(name)).expect("a file");
        leashed(Path::new(env!("CARGO_BIN_EXE_setguard")))
            .args(args.iter().map(|arg| arg.as_str().expect("a text")))
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .spawn()
            .expect("setguard")
    }
}
