//! The output of `setguard plan` for people. tests/it/rollouts.rs checks whether plans are right.

use std::path::Path;

use serde_json::{Value, json};
use setguard_testing::recorded::snapshot;

use crate::folder::{Folder, Ran};

/// A StatefulSet with claims; `more` are lines of its spec, `image` its template's.
pub(crate) fn stateful_set(name: &str, replicas: u8, image: &str, more: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {name}, namespace: shop}}
spec:
  serviceName: {name}
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
{more}  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: \"{image}\", volumeMounts: [{{name: data, mountPath: /data}}]}}]}}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
---
"
    )
}

/// A DaemonSet; `pod` are lines of its template's spec.
pub(crate) fn daemon_set(name: &str, image: &str, pod: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: {name}, namespace: ops}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  updateStrategy: {{type: RollingUpdate, rollingUpdate: {{maxUnavailable: 2}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
{pod}      containers: [{{name: main, image: \"{image}\"}}]
---
"
    )
}

/// Five nodes: one of the control plane, and four of which two have fast disks.
const NODES: &str = "\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: main-1, labels: {disk: fast}}, spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}}
- {apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {disk: fast}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-2, labels: {disk: fast}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-3}}
- {apiVersion: v1, kind: Node, metadata: {name: node-4}}
";

fn plan(before: &str, after: &str, flags: &str) -> (Folder, Ran) {
    let folder = Folder::new([("before.yaml", before), ("after.yaml", after), ("nodes", NODES)]);
    let ran = run(&folder, flags);
    (folder, ran)
}

fn run(folder: &Folder, flags: &str) -> Ran {
    let args = ["plan", "after.yaml", "--against", "before.yaml"].into_iter();
    folder.setguard(&args.chain(flags.split_whitespace()).collect::<Vec<_>>())
}

/// The exit code, the text for a pipe and for a terminal without colours, and the Markdown.
fn shown(before: &str, after: &str, flags: &str) -> String {
    let (folder, text) = plan(before, after, flags);
    assert_eq!(text.stderr, "");
    assert!(text.stdout.is_ascii(), "{text:?}");
    let markdown = run(&folder, &format!("{flags} --format markdown"));
    assert_eq!(markdown.code, text.code);
    format!("exit code {}\n\n{}\n--- Markdown\n\n{}", text.code, text.stdout, markdown.stdout)
}

#[test]
fn an_update_goes_down_to_the_partition() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new([]);
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    let args = ["plan", "examples/plan/after", "--against", "examples/plan/before"];
    let ran =
        Ran::from(command.args(args).current_dir(root).output().unwrap()).ends(0).reports_only("");
    snapshot("plan/an_update_goes_down_to_the_partition", &ran.stdout);
    let page = std::fs::read_to_string(root.join("docs/plan.md")).unwrap();
    assert!(page.contains(&format!("```text\n{}```\n", ran.stdout)), "docs/plan.md");
}

#[test]
fn a_daemon_moves_to_other_nodes() {
    let before = daemon_set("agent", "agent:1", "      nodeSelector: {disk: fast}\n");
    let tolerations = "      tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]\n";
    let after = daemon_set("agent", "agent:2", tolerations);
    snapshot("plan/a_daemon_moves_to_other_nodes", &shown(&before, &after, "--nodes nodes"));
    snapshot("plan/a_daemon_moves_back", &shown(&after, &before, "--nodes nodes"));
}

#[test]
fn a_scale_down_can_delete_data() {
    let delete = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";
    let (before, after) =
        (stateful_set("db", 4, "db:1", delete), stateful_set("db", 2, "db:1", delete));
    snapshot("plan/a_scale_down_can_delete_data", &shown(&before, &after, ""));
}

#[test]
fn a_refused_change_has_its_reasons_and_what_making_it_again_would_do() {
    let before = stateful_set("db", 3, "db:1", "");
    let after = before.replace("storage: 1Gi", "storage: 2Gi");
    snapshot(
        "plan/a_refused_change_has_its_reasons_and_what_making_it_again_would_do",
        &shown(&before, &after, ""),
    );
}

#[test]
fn pods_that_lack_a_renamed_claim_are_deleted_from_the_lowest_up() {
    let before = stateful_set("db", 3, "db:1", "");
    let after =
        before.replace("name: data}", "name: disk}").replace("{name: data,", "{name: disk,");
    snapshot(
        "plan/pods_that_lack_a_renamed_claim_are_deleted_from_the_lowest_up",
        &shown(&before, &after, ""),
    );
}

#[test]
fn a_rollout_stops_at_a_pod_that_never_becomes_ready() {
    let (before, after) = (stateful_set("db", 3, "db:1", ""), stateful_set("db", 3, "db:2", ""));
    snapshot(
        "plan/a_rollout_stops_at_a_pod_that_never_becomes_ready",
        &shown(&before, &after, "--never-ready db-1"),
    );
}

/// A set that was stored with `Recreate` keeps it without its gate, but has no rollouts.
#[test]
fn recreate_without_its_gate_does_nothing() {
    let recreate = "  updateStrategy: {type: Recreate}\n";
    let stored = |image| {
        let set = stateful_set("db", 2, image, recreate);
        set.replace("namespace: shop", "namespace: shop, uid: u1, resourceVersion: '7'")
    };
    let shown = |gate: &str| {
        let flags =
            format!("--kube-version 1.37 --feature-gates StatefulSetRecreateStrategy={gate}");
        shown(&stored("db:1"), &stored("db:2"), &flags)
    };
    let (on, off) = (shown("true"), shown("false"));
    assert!(on.contains("1. db-0 deleted; back in wave 2"), "{on}");
    assert!(off.contains("nothing happens") && !off.contains("deleted"), "{off}");
}

#[test]
fn several_objects_come_and_go() {
    let parallel = "  podManagementPolicy: Parallel\n";
    let old = stateful_set("old", 2, "a:1", "");
    let same = stateful_set("same", 2, "a:1", parallel);
    let large = |replicas| stateful_set("large", replicas, "a:1", parallel);
    let before = format!("{old}{same}{}", large(2));
    let after = format!("{same}{}{}", large(14), stateful_set("young", 2, "a:1", ""));
    snapshot("plan/several_objects_come_and_go", &shown(&before, &after, ""));
}

/// As `check`: colours and symbols on terminals, and for those who force them.
#[test]
fn colours_and_symbols_are_for_terminals() {
    let (before, after) = (stateful_set("db", 3, "db:1", ""), stateful_set("db", 3, "db:2", ""));
    let (folder, plain) = plan(&before, &after, "");
    let run = |name: &str, flags: &[&str]| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.args(["plan", "after.yaml", "--against", "before.yaml"]).args(flags);
        Ran::from(command.env(name, "1").output().unwrap()).stdout
    };
    let colours = run("CLICOLOR_FORCE", &[]);
    snapshot("plan/colours_and_symbols_are_for_terminals", &colours.replace('\x1b', "ESC"));
    let ascii = run("CLICOLOR_FORCE", &["--ascii"]);
    assert!(ascii.is_ascii() && ascii.contains('\x1b'), "{ascii:?}");
    assert_eq!(run("NO_COLOR", &[]), plain.stdout);
    for format in ["markdown", "json"] {
        assert!(!run("CLICOLOR_FORCE", &["--format", format]).contains('\x1b'));
    }
}

/// The content of a manifest cannot steer the terminal.
#[test]
fn an_escape_in_a_value_stays_visible() {
    let of = |image: &str| stateful_set("db", 1, image, "");
    let (folder, _) = plan(&of("a\\e[31m"), &of("b\\e]0;x\\a"), "");
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    command.args(["plan", "after.yaml", "--against", "before.yaml"]).env("CLICOLOR_FORCE", "1");
    let shown = Ran::from(command.output().unwrap()).stdout;
    assert!(shown.contains("a\\u001b[31m") && shown.contains("b\\u001b]0;x\\u0007"), "{shown:?}");
}

/// kubectl applies twice when it takes over from client-side apply. The API server refuses the first
/// object, which still has the block of the other strategy.
#[test]
fn a_change_that_check_refuses_is_not_simulated() {
    let strategy = |text: &str| format!("  updateStrategy: {text}\n");
    let old = strategy("{type: RollingUpdate, rollingUpdate: {partition: 1}}");
    let owned = r#"{manager: kubectl-client-side-apply, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1,
      fieldsV1: {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}},
        "f:spec": {"f:updateStrategy": {"f:type": {}, "f:rollingUpdate": {"f:partition": {}}}}}}"#;
    let stored = format!("namespace: shop, uid: u1, managedFields: [{owned}]");
    let before = stateful_set("db", 3, "db:1", &old).replace("namespace: shop", &stored);
    let after = stateful_set("db", 3, "db:2", &strategy("{type: OnDelete}"));
    let (folder, plan) = plan(&before, &after, "--as server-side-apply");
    let (code, check) = folder.json("after.yaml --against before.yaml --as server-side-apply");
    assert_eq!((code, plan.code), (1, 1), "{plan:?}");
    let field = check["findings"][0]["field"].as_str().unwrap();
    assert_eq!(field, "spec.updateStrategy.rollingUpdate", "{check}");
    assert!(plan.stdout.contains(field) && !plan.stdout.contains("deleted"), "{plan:?}");
}

#[test]
fn an_object_that_is_too_large_is_not_called_refused() {
    let many: String = (0..60_000).map(|i| format!("a{i}: b, ")).collect();
    let large = |image| {
        let labels = format!("namespace: shop, annotations: {{{many}}}");
        stateful_set("db", 3, image, "").replace("namespace: shop", &labels)
    };
    let (folder, plan) = plan(&large("db:1"), &large("db:2"), "");
    assert_eq!(folder.check("after.yaml").code, 0);
    assert_eq!(plan.code, 0, "{plan:?}");
    assert!(plan.stdout.contains("not simulated: the object is too large to check"), "{plan:?}");
}

/// Runs `plan` in a folder. Returns it with the JSON of the same plan.
pub(crate) fn planned(folder: &Folder, args: &str) -> (Ran, Value) {
    let run = |more: &str| {
        folder.setguard(&format!("plan {args} {more}").split_whitespace().collect::<Vec<_>>())
    };
    let json = run("--format json");
    (run("--format markdown"), serde_json::from_str(&json.stdout).expect("JSON"))
}

pub(crate) fn changes(plan: &Value) -> Vec<String> {
    let objects = plan["objects"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    objects
        .map(|it| {
            let object = &it["object"];
            let (namespace, name) = (text(&object["namespace"]), text(&object["name"]));
            format!("{namespace}/{name} {}", text(&it["change"]))
        })
        .collect()
}

#[test]
fn an_object_that_could_not_be_read_is_not_deleted() {
    let set = stateful_set("db", 3, "db:1", "");
    let broken = "apiVersion: v1\nkind: [\n";
    let folder = Folder::new([("before/db.yaml", set.as_str()), ("after/a.yaml", broken)]);
    folder.write("after/other.yaml", stateful_set("other", 1, "x:1", ""));
    let (markdown, plan) = planned(&folder, "after --against before");
    assert_eq!(markdown.code, 2);
    assert_eq!(changes(&plan), ["shop/other create"]);
    assert_eq!(plan["unknown"], json!(["StatefulSet shop/db: it may be deleted or not"]));
    assert!(!markdown.stdout.contains("is deleted"), "{}", markdown.stdout);
    let words = "- **Not known**: `StatefulSet shop/db: it may be deleted or not`: because not";
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    // If everything could be read, it is deleted.
    folder.write("after/a.yaml", "");
    let (_, plan) = planned(&folder, "after --against before");
    assert_eq!(changes(&plan), ["shop/other create", "shop/db delete"]);
    assert_eq!(plan.get("unknown"), None);
}

#[test]
fn an_object_whose_old_version_could_not_be_read_is_not_new() {
    let set = stateful_set("db", 3, "db:1", "");
    let folder = Folder::new([("db.yaml", set.as_str())]);
    for old in ["nowhere", "broken"] {
        folder.write("broken", "kind: [\n");
        let (markdown, plan) = planned(&folder, &format!("db.yaml --against {old}"));
        assert_eq!((markdown.code, changes(&plan)), (2, vec![]));
        assert_eq!(plan["unknown"], json!(["StatefulSet shop/db: it may be new or not"]));
        assert!(!markdown.stdout.contains("is new"), "{}", markdown.stdout);
    }
}

#[test]
fn an_object_of_a_cluster_is_deleted_only_if_asked_for() {
    let stored = |name| {
        stateful_set(name, 3, "db:1", "").replace("namespace: shop", "namespace: shop, uid: u1")
    };
    let before = stored("db") + &stored("other");
    let after = stateful_set("db", 3, "db:1", "").replace(", namespace: shop", "");
    let folder = Folder::new([("before.yaml", before.as_str()), ("after.yaml", after.as_str())]);
    let (ran, plan) = planned(&folder, "after.yaml --against before.yaml -n shop");
    assert_eq!((ran.code, changes(&plan)), (0, vec!["shop/db none".to_owned()]));
    let note = "note: left alone, because the manifests lack them: StatefulSet shop/other; --prune";
    assert!(ran.stderr.contains(note), "{ran:?}");
    let (_, plan) = planned(&folder, "after.yaml --against before.yaml -n shop --prune");
    assert_eq!(changes(&plan), ["shop/db none", "shop/other delete"]);
    // A manifest that sets a namespace stays there.
    let (_, plan) = planned(&folder, "before.yaml -n elsewhere");
    assert_eq!(changes(&plan), ["shop/db create", "shop/other create"]);
}

#[test]
fn a_pod_that_no_set_has_is_an_error() {
    let set = stateful_set("db", 3, "db:1", "");
    let folder = Folder::new([("db.yaml", set.as_str())]);
    let (ran, _) = planned(&folder, "db.yaml --never-ready db-2 --never-ready nosuch-3");
    assert_eq!(ran.code, 2);
    let error = "error: --never-ready: no StatefulSet of the input has a pod \"nosuch-3\"\n";
    assert_eq!(ran.stderr, error);
    assert_eq!(planned(&folder, "db.yaml --never-ready db-2 --never-ready new").0.code, 0);
}

/// A pod or claim of the StatefulSet shop/db as the API server stores it.
fn stored(kind: &str, name: &str, metadata: &Value, spec: &Value) -> String {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-of-{name}")},
        "spec": spec, "status": {"phase": "Running"},
    });
    let own = object["metadata"].as_object_mut().unwrap();
    own.extend(metadata.as_object().unwrap().clone());
    format!("---\n{object}\n")
}

/// Seen on a 1.37 control plane: a StatefulSet is scaled from 4 to 2 with `whenScaled: Delete` and back
/// to 4 while db-3 terminates. The claim data-db-3 is deleted, and a new one is created.
#[test]
fn a_claim_goes_with_its_pod_that_is_being_deleted() {
    let delete = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";
    let (two, four) =
        (stateful_set("db", 2, "db:1", delete), stateful_set("db", 4, "db:1", delete));
    let set = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": true}]);
    let status = "uid: s}\nstatus: {replicas: 3, updateRevision: db-1, currentRevision: db-1}\n";
    let mut now = two.replacen("namespace: shop}\n", &format!("namespace: shop, {status}"), 1);
    for ordinal in 0..4 {
        let (pod, claim) = (format!("db-{ordinal}"), format!("data-db-{ordinal}"));
        let labels = json!({"app": "db", "controller-revision-hash": "db-1"});
        let mut metadata = json!({"ownerReferences": set, "labels": labels});
        if ordinal == 3 {
            metadata["deletionTimestamp"] = json!("2026-11-23T09:00:00Z");
        }
        let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}});
        now += &stored("Pod", &pod, &metadata, &json!({"nodeName": "n", "volumes": [volume]}));
        // The pods that are condemned own their claims. db-2 is not being deleted yet.
        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": format!("uid-of-{pod}")}]);
        let metadata = if ordinal > 1 { json!({"ownerReferences": owner}) } else { json!({}) };
        now += &stored("PersistentVolumeClaim", &claim, &metadata, &json!({}));
    }
    let folder = Folder::new([("now.yaml", now.as_str()), ("db.yaml", four.as_str())]);
    let (markdown, plan) = planned(&folder, "db.yaml --against now.yaml");
    let steps = &plan["objects"][0]["steps"];
    let of = |action: &str| {
        let steps = steps.as_array().unwrap().iter().filter(|it| it["action"] == action);
        steps.map(|it| (it["pod"].clone(), it["claims"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        of("delete"),
        [(json!("db-3"), json!({"created": [], "deleted": ["data-db-3"]}))],
        "{steps:#}"
    );
    assert_eq!(
        of("create"),
        [(json!("db-3"), json!({"created": ["data-db-3"], "deleted": []}))],
        "{steps:#}"
    );
    let words = "claims DELETED with their data: data-db-3";
    assert!(markdown.stdout.contains(words), "{}", markdown.stdout);
    // Another pod of this name, created since, does not own the claim.
    folder.write("now.yaml", now.replace(r#""uid":"uid-of-db-3"}]"#, r#""uid":"before"}]"#));
    let (markdown, _) = planned(&folder, "db.yaml --against now.yaml");
    assert!(markdown.stdout.contains("claims deleted: none"), "{}", markdown.stdout);
}
