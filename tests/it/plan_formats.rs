//! `setguard plan` in pipelines: against a commit, and the formats for reviewers.

use crate::{
    folder::Folder,
    plan::{daemon_set, stateful_set},
};
use setguard_testing::recorded::snapshot;

const DELETES: &str = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";

/// A repository with two sets, and a work tree that changes one of them.
fn repository() -> Folder {
    let folder = Folder::new([
        ("deploy/db.yaml", stateful_set("db", 3, "db:1", DELETES).as_str()),
        ("deploy/same.yaml", &stateful_set("same", 2, "a:1", "")),
    ]);
    folder.commit();
    folder.write("deploy/db.yaml", stateful_set("db", 2, "db:1", DELETES));
    folder
}

#[test]
fn a_change_is_compared_with_a_commit() {
    let folder = repository();
    let plan = |reference: &str, more: &[&str]| {
        let ran =
            folder.setguard(&[&["plan", "deploy", "--against-ref", reference], more].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.stdout
    };
    let all = plan("main", &[]);
    assert!(all.contains("spec.replicas: 3 -> 2") && all.contains("nothing changes"), "{all}");
    let new = plan("main", &["--new-only"]);
    assert!(new.contains("spec.replicas: 3 -> 2") && !new.contains("shop/same"), "{new}");
    // The branch has the change now, and main goes on.
    folder.git("checkout -q -b change");
    folder.git("commit -q -a -m second");
    folder.git("checkout -q main");
    folder.write("deploy/db.yaml", stateful_set("db", 9, "db:1", DELETES));
    folder.git("commit -q -a -m third");
    folder.git("checkout -q change");
    let start = plan("main", &["--new-only"]);
    assert!(start.contains("spec.replicas: 3 -> 2"), "{start}");
    let tip = plan("main..", &["--new-only"]);
    assert!(tip.contains("spec.replicas: 9 -> 2"), "{tip}");
    assert_eq!(plan("HEAD", &["--new-only"]), "nothing changes\n");
    assert_eq!(plan("HEAD", &["--new-only", "--format", "markdown"]), "nothing changes\n");
}

#[test]
fn a_commit_that_cannot_be_read_is_an_error_and_a_broken_file_in_it_is_not() {
    let folder = repository();
    folder
        .setguard(&["plan", "deploy", "--against-ref", "none"])
        .ends(2)
        .reports("git knows no commit \"none\"")
        .prints_no("is new");
    folder.write("deploy/db.yaml", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: [\n");
    folder.git("commit -q -a -m broken");
    folder.write("deploy/db.yaml", stateful_set("db", 2, "db:1", DELETES));
    let ran = folder.setguard(&["plan", "deploy", "--against-ref", "HEAD"]).ends(0);
    assert!(ran.stderr.starts_with("note: HEAD:deploy/db.yaml:"), "{ran:?}");
    assert!(ran.stdout.contains("it may be new or not"), "{ran:?}");
}

/// In GoogleCloudPlatform/kubernetes-engine-samples every set seemed to have no pods, because an example
/// of a Pod was somewhere.
#[test]
fn pods_claims_and_nodes_in_a_repository_are_not_the_ones_of_the_cluster() {
    let folder = repository();
    let plan = || folder.setguard(&["plan", ".", "--against-ref", "HEAD"]).stdout;
    let without = plan();
    assert!(without.contains("nothing changes\n"), "{without}");
    for kind in ["Pod", "PersistentVolumeClaim", "Node"] {
        let example =
            format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: example}}\nspec: {{}}\n");
        folder.write("examples/example.yaml", example);
        folder.git("add examples");
        folder.git("commit -q -m example examples");
        assert_eq!(plan(), without, "{kind}");
    }
}

#[test]
fn a_file_that_is_no_manifest_is_passed_over_in_a_folder() {
    let folder = repository();
    folder.write("web/tsconfig.json", "{\n  // comments\n  \"a\": 1,\n}\n");
    folder.write("test/job.yaml", "apiVersion: batch/v1\nkind: Job\nspec: {a: %IP}\n");
    folder
        .setguard(&["plan", ".", "--against-ref", "HEAD"])
        .ends(0)
        .reports("note: ./test/job.yaml:3: not YAML: ")
        .reports_no("tsconfig");
    assert_eq!(folder.setguard(&["plan", "web/tsconfig.json"]).code, 2);
}

#[test]
fn the_headline_has_what_a_reviewer_must_see_first() {
    let daemon = |image: &str| daemon_set("agent", image, "");
    let nodes = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n1}}\n- {apiVersion: v1, kind: Node, metadata: {name: n2}}\n";
    let sets = |replicas, image| stateful_set("db", replicas, image, DELETES);
    let folder = Folder::new([
        ("before.yaml", format!("{}{}", daemon("a:1"), sets(4, "db:1")).as_str()),
        ("after.yaml", &format!("{}{}", daemon("a:2"), sets(3, "db:2"))),
        ("nodes", nodes),
    ]);
    let args = "plan after.yaml --against before.yaml --nodes nodes --never-ready db-1";
    let args = args.split(' ').chain(["--format", "markdown"]).collect::<Vec<_>>();
    let ran = folder.setguard(&args).ends(0);
    snapshot("plan_formats/the_headline_has_what_a_reviewer_must_see_first", &ran.stdout);
}

/// The texts of a drawing.
fn texts(svg: &str) -> Vec<String> {
    let drawn = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
    let texts =
        drawn.descendants().filter(|it| it.has_tag_name("text") || it.has_tag_name("title"));
    texts.filter_map(|it| it.text().map(str::to_owned)).collect()
}

#[test]
fn a_drawing_has_pods_over_waves() {
    let folder = Folder::new([
        ("before.yaml", stateful_set("db", 4, "db:1", DELETES).as_str()),
        ("after.yaml", &stateful_set("db", 3, "db:2", DELETES)),
    ]);
    let args = "plan after.yaml --against before.yaml --never-ready db-1 --format svg";
    let svg = folder.setguard(&args.split(' ').collect::<Vec<_>>());
    assert_eq!(svg.code, 0, "{svg:?}");
    let all = texts(&svg.stdout);
    for text in [
        "wave 3",
        "db-3: deleted + data",
        "db-2: replaced",
        "db-1: never ready",
        "db-0: keeps the old template",
    ] {
        assert!(all.iter().any(|it| it == text), "{text} in {all:#?}");
    }
    assert!(svg.stdout.contains("<desc>Data lost: StatefulSet shop/db: "), "{svg:?}");
    assert!(svg.stdout.contains("prefers-color-scheme: dark"), "{svg:?}");
    let foreign = svg.stdout.replace("http://www.w3.org/2000/svg", "");
    for word in ["<script", "http:", "https:", "url(", "@import"] {
        assert!(!foreign.contains(word), "{word} in {svg:?}");
    }
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
