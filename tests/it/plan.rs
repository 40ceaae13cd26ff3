//! The output of `setguard plan` for people. tests/it/rollouts.rs checks whether plans are right.

use crate::prelude::*;

/// A StatefulSet with claims; `more` are lines of its spec, `image` is for its template.
pub(crate) fn stateful_set(name: &str, replicas: u8, image: &str, more: &str) -> String {
    let text = include_str!("../fixtures/manifests/stateful-set.yaml");
    let text = text.replace("REPLICAS", &replicas.to_string()).replace("IMAGE", image);
    text.replace("NAME", name).replace("MORE\n", more)
}

/// A DaemonSet; `pod` are lines of its template's spec.
pub(crate) fn daemon_set(name: &str, image: &str, pod: &str) -> String {
    let text = include_str!("../fixtures/manifests/daemon-set.yaml");
    text.replace("NAME", name).replace("POD\n", pod).replace("IMAGE", image)
}

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

fn texts(svg: &str) -> Vec<String> {
    let drawn = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
    let texts =
        drawn.descendants().filter(|it| it.has_tag_name("text") || it.has_tag_name("title"));
    texts.filter_map(|it| it.text().map(str::to_owned)).collect()
}

#[test]
fn a_drawing_of_many_pods_stays_small() {
    let folder = Folder::new([
        ("before.yaml", stateful_set("db", 250, "db:1", "").as_str()),
        ("after.yaml", &stateful_set("db", 250, "db:2", "")),
    ]);
    let args = ["plan", "after.yaml", "--against", "before.yaml", "--format", "svg"];
    let svg = folder.setguard(&args).stdout;
    let all = texts(&svg);
    for text in ["… 211 more", "… 239 waves", "db-249: replaced", "wave 250"] {
        assert!(all.iter().any(|it| it == text), "{text} in {all:#?}");
    }
    assert!(svg.len() < 30_000, "{} bytes", svg.len());
}

pub(crate) fn planned(folder: &Folder, args: &str) -> (Ran, Value) {
    let run = |more: &str| {
        folder.setguard(&format!("plan {args} {more}").split_whitespace().collect::<Vec<_>>())
    };
    let json = run("--format json");
    (run("--format markdown"), serde_json::from_str(&json.stdout).expect("JSON"))
}
