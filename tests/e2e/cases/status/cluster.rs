//! A cluster with controllers, scheduler and a stand-in for the kubelets, and its `setguard audit`.

use super::untouched::Untouched;
use crate::prelude::*;
use crate::setguard_of;

pub(super) const SHOP: &str = "shop";

#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The message, with the help.
    pub(super) message: String,
    /// The cause alone.
    cause: Value,
    namespace: String,
    /// The read-only commands, and the others.
    looks: Vec<String>,
    changes: Vec<String>,
}

impl Finding {
    pub(super) fn first_command(&self) -> String {
        let command = self.message.split('`').nth(1);
        command.unwrap_or_else(|| panic!("no command: {}", self.message)).to_owned()
    }

    /// The command of the message for this purpose.
    pub(super) fn command(&self, does: &str) -> Option<String> {
        let mut commands = self.message.split('`').skip(1).step_by(2);
        commands.find(|it| it.starts_with(&format!("kubectl {does} "))).map(str::to_owned)
    }
}

pub(super) type Findings = BTreeMap<(String, String), Finding>;

/// Causes that a plan takes to pass: a pod waits for a volume or a place, or should have ended a moment ago.
const UNPLANNED: &[&str] =
    &["claim-pending", "no-node-matches", "has a place for it", "waits for its finalizers"];

/// A separate control plane with a stand-in for the kubelets.
pub(in crate::cases) struct Cluster<'a> {
    pub(in crate::cases) plane: &'a ControlPlane,
    /// Nodes that stay down while commands run.
    pub(in crate::cases) down: &'a [&'a str],
}

impl Cluster<'_> {
    pub(in crate::cases) fn kubectl(&self, args: &[&str], stdin: &str) -> Output {
        self.plane.kubectl.run(args, stdin)
    }

    /// Runs a command whose words have no spaces, and that succeeds.
    #[track_caller]
    pub(in crate::cases) fn does(&self, command: &str) -> String {
        self.kubectl(&words(command), "").accepted().stdout
    }

    pub(in crate::cases) fn apply(&self, object: &Value) {
        self.apply_text(&object.to_string());
    }

    pub(super) fn apply_text(&self, objects: &str) {
        self.kubectl(&["apply", "-f", "-"], objects).accepted();
    }

    pub(in crate::cases) fn patch_status(&self, object: &str, namespace: &str, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        let status = "--subresource=status";
        let args = ["patch", object, "-n", namespace, status, "--type=strategic", "-p", &patch];
        self.kubectl(&args, "").accepted();
    }

    /// Audits without patience for pods.
    pub(super) fn audit(&self) -> Findings {
        let args = ["audit", "--patience=1s", "--format=json", "--cluster-reports=none"];
        let output = setguard(&self.plane.kubectl.kubeconfig, &args);
        let report: Value = serde_json::from_str(&output.stdout).expect(&output.stderr);
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        // A note about healthy sets. It has no command.
        let about_state = |it: &&Value| it["rule"] != "replicas-without-budget";
        let found = findings.iter().filter(about_state).map(|finding| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (rule, kind) = (text(&finding["rule"]), text(&finding["object"]["kind"]));
            let mut name = text(&finding["object"]["name"]);
            if kind == "ControllerRevision" {
                name.truncate(name.rfind('-').unwrap_or_default());
            }
            let commands = finding["commands"].as_array().into_iter().flatten();
            let (looks, changes): (Vec<_>, _) = commands.partition(|it| it["effect"] == "looks");
            let [looks, changes] =
                [looks, changes].map(|it| it.into_iter().map(|it| text(&it["run"])).collect());
            let (message, cause) = (text(&finding["message"]), finding["cause"].clone());
            let namespace = text(&finding["object"]["namespace"]);
            let finding = Finding { message, cause, namespace, looks, changes };
            ((rule, format!("{kind}/{name}")), finding)
        });
        found.collect()
    }

    /// Runs `wait` and `plan` for each set with findings. The first cause of a set that cannot succeed is one of its
    /// findings, and a plan of the set as it is stops or says what the API server refuses. The API server accepts each
    /// printed command that changes something.
    pub(super) fn agrees(&self, found: &Findings) {
        let kubeconfig = &self.plane.kubectl.kubeconfig;
        let sets = found.iter().filter(|((_, it), _)| it.contains("Set/"));
        let sets: BTreeSet<_> = sets.map(|((_, it), finding)| (it, &finding.namespace)).collect();
        let judge = |(set, namespace): (&String, &String)| {
            let short = ["--patience=1s", "--timeout=20s", "--format=json", "-n", namespace, set];
            let said = setguard(kubeconfig, &[&["wait"], &short[..]].concat()).stdout;
            let mut events = said.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
            let stuck = events.find(|it| it["type"] == "stuck");
            let rule = stuck.as_ref().and_then(|it| it["findings"][0]["rule"].as_str());
            let rules = found.keys().filter(|(_, it)| it == set).map(|(rule, _)| rule);
            let rules: Vec<_> = rules.collect();
            let now = self.kubectl(&["get", set, "-n", namespace, "-o", "json"], "").stdout;
            let plan = ["plan", "-", "--live", "-n", namespace, "--format", "json"];
            let plan = setguard_of(kubeconfig, &plan, &now).stdout;
            let plan: Value = serde_json::from_str(&plan).unwrap_or_default();
            let plan = &plan["objects"][0];
            let notes = plan["notes"].as_array().into_iter().flatten();
            let mut notes = notes.filter_map(Value::as_str);
            let stops = !plan["summary"]["stopsAt"].is_null()
                || notes.any(|it| it.starts_with("the API server refused"));
            let is_named = rule.is_none_or(|rule| rules.iter().any(|it| *it == rule));
            let is_unplanned = UNPLANNED.iter().any(|text| said.contains(text));
            let is_planned = rule.is_none() || stops || is_unplanned;
            assert!(is_named && is_planned, "{set}: {rules:?}\n{stuck:?}\n{plan:#}");
        };
        thread::scope(|scope| {
            for set in sets {
                scope.spawn(move || judge(set));
            }
        });
        for command in found.values().flat_map(|it| &it.changes) {
            // What follows depends on it, such as the removal of a taint on a command that adds it.
            let first = command.split(" && ").next().filter(|it| it.starts_with("kubectl "));
            if let Some(first) = first.filter(|it| !it.ends_with('-')) {
                self.follow(&format!("{first} --dry-run=server"), command);
            }
        }
    }

    pub(super) fn names(&self, expected: &[[&str; 3]]) -> Findings {
        eventually("everything to be named", || {
            let _ = self.run_pods(self.down, 0);
            let found = self.audit();
            let is_named = |[rule, object, text]: &[&str; 3]| {
                let key = ((*rule).to_owned(), (*object).to_owned());
                found.get(&key).is_some_and(|it| it.message.contains(text))
            };
            let all = expected.iter().all(is_named);
            if all && found.len() == expected.len() {
                Ok(found)
            } else {
                Err(format!("{found:#?}"))
            }
        })
    }

    /// Follows the read-only commands of each finding, then the command that `repair` chooses. After that, the finding
    /// disappears or keeps its cause, and the healthy sets are untouched.
    pub(super) fn follow_all(
        &self,
        found: &Findings,
        calm: &Untouched,
        repair: impl Fn(&(String, String), &Finding) -> Option<String>,
    ) {
        self.agrees(found);
        for (key, finding) in found {
            let why = format!("{} of {}: {}", key.0, key.1, finding.message);
            finding.looks.iter().for_each(|command| self.follow(command, &why));
            if let Some(command) = repair(key, finding) {
                self.follow(&command, &why);
            }
            calm.assert(self, &why);
            eventually("the cause to be gone or the same", || {
                let _ = self.run_pods(self.down, 0);
                match self.audit().remove(key) {
                    Some(now) if now.cause != finding.cause => Err(format!("{why}\n{now:#?}")),
                    _ => Ok(()),
                }
            });
        }
    }

    pub(super) fn is_repaired(&self, counts: impl Fn(&(String, String)) -> bool) {
        eventually("everything to be repaired", || {
            let _ = self.run_pods(self.down, 0);
            let mut left = self.audit();
            left.retain(|key, _| counts(key));
            if left.is_empty() { Ok(()) } else { Err(format!("{left:#?}")) }
        });
    }

    /// Runs a command in a shell while the kubelets work: kubectl waits for the end of the pods that it deletes.
    pub(super) fn follow(&self, command: &str, why: &str) {
        self.follow_in(Path::new("."), command, why, &|| ());
    }

    /// Runs commands in this folder like [`follow`](Self::follow), with `others` working too. Returns the output.
    pub(in crate::cases) fn follow_in(
        &self,
        folder: &Path,
        command: &str,
        why: &str,
        others: &dyn Fn(),
    ) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_setguard")).parent().expect("its folder");
        let path = path_with([self.plane.assets.clone(), program.to_owned()]);
        let mut shell = Command::new("sh")
            .args(["-ec", command])
            .current_dir(folder)
            .env("PATH", path)
            .env("KUBECONFIG", &self.plane.kubectl.kubeconfig)
            .env("HOME", &self.plane.kubectl.home)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        eventually("a printed command to end", || {
            let _ = self.run_pods(self.down, 0);
            others();
            match shell.try_wait() {
                Ok(Some(_)) => Ok(()),
                other => Err(format!("{why}\n$ {command}\n{other:?}")),
            }
        });
        let output = shell.wait_with_output().expect("its output");
        assert!(output.status.success(), "{why}\n$ {command}\n{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs one round of the kubelets, except those of `down` nodes. Images with `bad` in their names cannot be
    /// pulled. Succeeds if `wanted` pods are ready.
    pub(in crate::cases) fn run_pods(&self, down: &[&str], wanted: usize) -> Result<(), String> {
        let list = self.kubectl(&["get", "pods", "-A", "-o", "json"], "").json();
        let mut ready = 0;
        for pod in list["items"].as_array().into_iter().flatten() {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str);
            let node = text("/spec/nodeName").filter(|node| !down.contains(node));
            let (Some(name), Some(namespace)) =
                (text("/metadata/name").filter(|_| node.is_some()), text("/metadata/namespace"))
            else {
                continue;
            };
            if text("/metadata/deletionTimestamp").is_some() {
                let now = "--force --grace-period=0 --ignore-not-found";
                self.kubectl(&words(&format!("delete pod {name} -n {namespace} {now}")), "");
                continue;
            }
            if text("/status/startTime").is_none() {
                let image = text("/spec/containers/0/image").unwrap_or_default();
                let status = started(image);
                self.patch_status(&format!("pod/{name}"), namespace, &status);
            }
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let mut conditions = conditions.filter(|it| it["type"] == "Ready");
            ready += usize::from(conditions.any(|it| it["status"] == "True"));
        }
        let text = format!("{ready} of {wanted} pods are ready: {:#}", list["items"]);
        if ready >= wanted { Ok(()) } else { Err(text) }
    }

    pub(super) fn node(&self, name: &str, pool: &str, taint: Option<&str>) {
        let labels = json!({ "pool": pool, "kubernetes.io/hostname": name });
        let taint =
            taint.map(|it| json!({ "key": "dedicated", "value": it, "effect": "NoSchedule" }));
        let taints = json!({ "taints": Vec::from_iter(taint) });
        let metadata = json!({ "name": name, "labels": labels });
        node::put(self.plane, json!({ "metadata": metadata, "spec": taints }));
    }

    pub(super) fn namespace(&self, name: &str, labels: &Value) {
        let metadata = json!({ "name": name, "labels": labels });
        self.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }));
    }

    pub(super) fn one_pod(&self, namespace: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": { "name": "small", "namespace": namespace },
            "spec": { "hard": { "pods": "1" } },
        }));
    }

    pub(super) fn disk(&self, class: &str, expands: bool) {
        let disk = include_str!("../../../fixtures/wait/disk.yaml");
        self.apply_text(&disk.replace("CLASS", class).replace("EXPANDS", &expands.to_string()));
    }

    pub(super) fn pods_on(&self, node: &str) -> Vec<String> {
        let on = format!("--field-selector spec.nodeName={node}");
        let names = self.does(&format!("get pods -n {SHOP} {on} -o name"));
        names.lines().map(str::to_owned).collect()
    }

    pub(super) fn delete_soon(&self, pod: &str) {
        self.does(&format!("delete {pod} -n {SHOP} --wait=false --grace-period=1"));
    }

    /// Waits until kubectl prints what is wanted, while the kubelets work.
    pub(super) fn until(&self, what: &str, args: &[&str], is_wanted: impl Fn(&str) -> bool) {
        let ask = || {
            let _ = self.run_pods(self.down, 0);
            self.kubectl(args, "")
        };
        becomes(what, ask, |output| is_wanted(&output.stdout));
    }

    pub(super) fn cannot_pull(&self, one: &str, other: &str) {
        let pods = ["get", "pods", one, other, "-n", SHOP, "-o", "json"];
        let are_bad = |pods: &str| pods.matches("Back-off pulling").count() == 2;
        self.until("the bad images not to be pulled", &pods, are_bad);
    }

    /// Applies a set with its Service.
    pub(super) fn serve(&self, set: &Value) {
        let name = &set["metadata"]["name"];
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": SHOP },
            "spec": {
                "clusterIP": "None",
                "selector": { "app": name },
                "ports": [{ "port": 80 }],
            },
        }));
        self.apply(set);
    }
}

fn started(image: &str) -> Value {
    let now = Timestamp::now().to_string();
    let is_bad = image.contains("bad");
    let state = if is_bad {
        // The kubelet's wording since 1.31.
        let message =
            format!("Back-off pulling image \"{image}\": ErrImagePull: {image}: not found");
        json!({ "waiting": { "reason": "ImagePullBackOff", "message": message } })
    } else {
        json!({ "running": { "startedAt": now } })
    };
    let is_ready = if is_bad { "False" } else { "True" };
    json!({
        "phase": if is_bad { "Pending" } else { "Running" },
        "startTime": now,
        "conditions": [{ "type": "Ready", "status": is_ready, "lastTransitionTime": now }],
        "containerStatuses": [{
            "name": "main", "image": image, "imageID": "", "ready": !is_bad, "restartCount": 0,
            "state": state,
        }],
    })
}

fn template(app: &str, pool: &str, image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": app } },
        "spec": {
            "nodeSelector": { "pool": pool },
            "containers": [{
                "name": "main",
                "image": image,
                "readinessProbe": { "tcpSocket": { "port": 80 } },
            }],
        },
    })
}

pub(super) fn daemon_set_of(name: &str, pool: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": name, "namespace": SHOP },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": template(name, pool, image),
        },
    })
}

pub(super) fn on_delete() -> Value {
    json!({ "type": "OnDelete" })
}

pub(super) fn partition() -> Value {
    json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 1 } })
}

pub(super) fn stateful_set_of(name: &str, pool: &str, replicas: u8, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": { "name": name, "namespace": SHOP },
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": template(name, pool, image),
        },
    })
}
