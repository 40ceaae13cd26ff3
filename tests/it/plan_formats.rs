//! `setguard plan` in pipelines: against a commit, and the formats for reviewers.

use crate::{folder::Folder, plan::stateful_set};

const DELETES: &str = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";

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
