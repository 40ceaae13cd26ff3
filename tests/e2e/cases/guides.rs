//! The pages in `docs/guides/`, followed step by step on a real control plane.

use super::status::cluster::Cluster;
use crate::pages;
use crate::prelude::*;

pub(super) const CASES: &[Case] =
    &[Case::needing(&[CONTROLLER_MANAGER, SCHEDULER], "guides-work-step-by-step", step_by_step)];

const CONTROLLERS: &[&str] = &[
    "daemonset-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "statefulset-controller",
];

/// The pages in the order of their dependencies.
const PAGES: [&str; 6] = ["log-agent", "node-plugin", "gpu-device-plugin", "database", QUEUE, GROW];
const QUEUE: &str = "queue";
const GROW: &str = "grow-a-claim-template";

/// The steps that make the claims of the database small again.
const SMALL_CLAIMS: &str = "\
kubectl delete sts/db -n shop
kubectl wait --for=delete pod -l app=db -n shop
kubectl delete pvc -n shop -l app=db
kubectl apply -f database.yaml
kubectl rollout status -n shop statefulset/db";

fn step_by_step(shared: &Namespace<'_>) {
    let plane = ControlPlane::start(&shared.control_plane.assets);
    plane.start_controllers(CONTROLLERS);
    plane.start_scheduler();
    let folder = tempfile::tempdir().expect("a folder");
    let reader = Reader { cluster: Cluster { plane: &plane, down: &[] }, folder: folder.path() };
    for name in PAGES {
        reader.begin();
        reader.create_nodes();
        if name == GROW {
            reader.run(SMALL_CLAIMS);
            let before = reader.database_pods();
            reader.read(name);
            assert_eq!(reader.database_pods(), before, "a pod was replaced");
            reader.try_refused_sizes();
            reader.try_template_of_larger_claims();
        } else {
            reader.read(name);
        }
        if name == QUEUE {
            reader.try_canary_of_members();
        }
    }
}

struct Reader<'a> {
    cluster: Cluster<'a>,
    folder: &'a Path,
}

impl Reader<'_> {
    fn begin(&self) {
        pages::reset(self.folder);
        for entry in fs::read_dir(self.folder).expect("manifests") {
            let path = entry.expect("a file").path();
            let text = fs::read_to_string(&path).expect("a manifest");
            // More seconds would only slow the test down.
            let text = text.replace("minReadySeconds: 10", "minReadySeconds: 1");
            fs::write(&path, text.replace("minReadySeconds: 30", "minReadySeconds: 1"))
                .expect("a file");
        }
    }

    fn read(&self, name: &str) {
        let path = Path::new(pages::FOLDER).join(format!("{name}.md"));
        let page = fs::read_to_string(path).expect("a page");
        let mut section = 0;
        let followed = pages::map(&page, |block| {
            if block.section != section {
                section = block.section;
                self.begin();
            }
            match block.language {
                "diff" => pages::change(self.folder, block.text),
                "sh" => drop(self.run(block.text)),
                _ if pages::asks_cluster(block) => {
                    return Some(pages::outputs(block, |command| self.setguard(command)));
                }
                _ => {}
            }
            None
        });
        assert!(
            without_seconds(&followed) == without_seconds(&page),
            "{name}.md is old; it should be\n{followed}"
        );
    }

    fn run(&self, commands: &str) -> String {
        self.cluster.follow_in(self.folder, commands, "a guide", &|| self.provision())
    }

    fn setguard(&self, command: &str) -> String {
        let mut arguments = command.split(' ');
        assert_eq!(arguments.next(), Some("setguard"));
        let output = Command::new(env!("CARGO_BIN_EXE_setguard"))
            .args(arguments)
            .current_dir(self.folder)
            .output()
            .expect("setguard");
        String::from_utf8(output.stdout).expect("text")
    }

    fn create_nodes(&self) {
        let nodes = self.run("kubectl create --dry-run=client -o json -f nodes.yaml");
        for node in serde_json::Deserializer::from_str(&nodes).into_iter::<Value>() {
            node::put(self.cluster.plane, node.expect("a node"));
        }
    }

    /// Runs one round of the guides' storage driver: creates and expands volumes.
    fn provision(&self) {
        let claims = self.cluster.kubectl(&["get", "pvc", "-A", "-o", "json"], "").json();
        for claim in claims["items"].as_array().into_iter().flatten() {
            let metadata = &claim["metadata"];
            let wanted = &claim["spec"]["resources"]["requests"]["storage"];
            let volume = format!("pv-{}", metadata["uid"].as_str().expect("a UID"));
            let is_bound = claim["status"]["phase"] == "Bound";
            if is_bound && claim["status"]["capacity"]["storage"] != *wanted {
                let capacity = json!({ "capacity": { "storage": wanted } });
                let patch = json!({ "spec": capacity });
                self.cluster.does(&format!("patch pv {volume} --type=merge -p {patch}"));
                let name = metadata["name"].as_str().expect("a name");
                self.cluster.patch_status(&format!("pvc/{name}"), "shop", &capacity);
            } else if metadata["annotations"]["volume.kubernetes.io/selected-node"].is_string() {
                // This fails if the volume exists.
                let volume = volume_of(claim, &volume).to_string();
                self.cluster.kubectl(&["create", "-f", "-"], &volume);
            }
        }
    }

    fn database_pods(&self) -> String {
        self.run("kubectl get pods -n shop -l app=db -o jsonpath='{.items[*].metadata.uid}'")
    }

    fn try_refused_sizes(&self) {
        let page = include_str!("../../../docs/guides/grow-a-claim-template.md");
        let refused = |claim: &str, size: &str| {
            let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}}).to_string();
            let args = ["patch", "pvc", claim, "-n", "shop", "-p", &patch];
            let output = self.cluster.kubectl(&args, "").refused(&[]);
            let answers =
                page.lines().filter_map(|line| line.strip_prefix("| ")?.split('`').rev().nth(1));
            assert!(answers.into_iter().any(|it| output.stderr.contains(it)), "{output}");
        };
        refused("data-db-0", "5Gi");
        self.run("kubectl patch storageclass fast -p '{\"allowVolumeExpansion\": false}'");
        refused("data-db-0", "300Gi");
        self.run("kubectl patch storageclass fast -p '{\"allowVolumeExpansion\": true}'");
        self.cluster.apply(&json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": "unbound", "namespace": "shop" },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
                "storageClassName": "fast",
            },
        }));
        refused("unbound", "2Gi");
        // A new replica gets a claim of the new size.
        self.run("kubectl scale sts/db -n shop --replicas=4");
        self.run("kubectl rollout status -n shop sts/db");
        let claim = self.cluster.kubectl(&["get", "pvc/data-db-3", "-n", "shop", "-o", "json"], "");
        assert_eq!(claim.json()["spec"]["resources"]["requests"]["storage"], "200Gi");
    }

    fn try_template_of_larger_claims(&self) {
        self.run(
            "kubectl patch pvc data-db-0 -n shop \
               -p '{\"spec\": {\"resources\": {\"requests\": {\"storage\": \"300Gi\"}}}}'\n\
             kubectl get sts,pods,pvc,controllerrevisions -n shop -o yaml > now.yaml",
        );
        let larger =
            "--- database.yaml\n-            storage: 200Gi\n+            storage: 300Gi\n";
        pages::change(self.folder, larger);
        let plan = self.setguard("setguard plan database.yaml --against now.yaml");
        for part in ["is refused by the API server", "field is immutable", "--cascade=orphan"] {
            assert!(plan.contains(part), "{plan}");
        }
    }

    fn try_canary_of_members(&self) {
        self.begin();
        let canary = "--- queue.yaml\n-      partition: 0\n+      partition: 2\n@@\n\
            -          image: registry.example.com/queue:4.1.0\n\
            +          image: registry.example.com/queue:4.2.0\n";
        pages::change(self.folder, canary);
        self.run(
            "kubectl apply -f queue.yaml\n\
             setguard wait statefulset/queue -n shop\n\
             kubectl get sts,pods,pvc,controllerrevisions -n shop -o yaml > now.yaml",
        );
        let others = "--- queue.yaml\n-      partition: 2\n+      partition: 0\n";
        pages::change(self.folder, others);
        let plan = self.setguard("setguard plan queue.yaml --against now.yaml");
        for part in [
            "* 1. queue-1 replaced\n",
            "* 2. queue-0 replaced, once queue-1 has been ready for 1 s\n",
            "= queue-2 is left alone\n",
        ] {
            assert!(plan.contains(part), "{plan}");
        }
        self.run("kubectl apply -f queue.yaml\nkubectl rollout status -n shop sts/queue");
    }
}

fn volume_of(claim: &Value, name: &str) -> Value {
    let metadata = &claim["metadata"];
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": { "pv.kubernetes.io/provisioned-by": "block.csi.example.com" },
        },
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": claim["spec"]["resources"]["requests"],
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
            "csi": { "driver": "block.csi.example.com", "volumeHandle": name },
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "fast",
        },
    })
}

/// The page without seconds, because they depend on the machine.
fn without_seconds(page: &str) -> String {
    let mut words: Vec<&str> = page.split(' ').collect();
    for at in 1..words.len() {
        let is_number = words[at - 1].bytes().all(|byte| byte.is_ascii_digit());
        if is_number && words[at].trim_end_matches([',', ';', '\n']) == "s" {
            words[at - 1] = "N";
        }
    }
    words.join(" ")
}
