//! The reports of `audit` over all fixture clusters, with hostile texts added.

use proptest::{prelude::*, test_runner::Config};
use serde_json::Value;

use super::{hostile, is_inert, pieces, summary_is_inert};
use crate::{api_server::ApiServer, folder::Folder, folder::Ran, support};

fn spoil(value: &mut Value, key: &str, namespace: &str, text: &str) {
    match value {
        Value::String(leaf) => {
            let is_of_set = |word: &str| leaf.starts_with(word);
            // The API server validates namespace names.
            if leaf == "shop" {
                namespace.clone_into(leaf);
            } else if let Some(set) = ["agent", "db"].into_iter().find(|set| is_of_set(set)) {
                leaf.insert_str(set.len(), text);
            } else if matches!(key, "image" | "message" | "reason") {
                leaf.push_str(text);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| spoil(it, key, namespace, text)),
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, it)| spoil(it, key, namespace, text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cluster(text: &str) -> ApiServer {
    let api_server = ApiServer::start("36");
    for (i, (_, fixture)) in support::fixtures("status").into_iter().enumerate() {
        for document in support::to_json(&fixture) {
            let mut object: Value = serde_json::from_str(&document).unwrap();
            spoil(&mut object, "", &format!("shop-{i}"), text);
            let kind = object["kind"].as_str().unwrap().to_lowercase();
            let end = if kind.ends_with('s') { "es" } else { "s" };
            api_server.apply(&format!("{kind}{end}"), &object);
        }
    }
    api_server
}

fn try_all(text: &str, formats: &[&str]) {
    let (api_server, folder) = (cluster(text), Folder::new([]));
    let kubeconfig = api_server.kubeconfig(folder.0.path());
    for format in formats {
        let summary = folder.path("summary.md");
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.args(["audit", "--format", format]).env("KUBECONFIG", &kubeconfig);
        let ran: Ran = command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap().into();
        assert_eq!(ran.code, 1, "{format}: {}", ran.stderr);
        is_inert(format, &ran.stderr, &ran);
        match *format {
            "junit" => {
                roxmltree::Document::parse(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
            }
            "text" | "github" => is_inert(format, &ran.stdout, &ran),
            _ => {
                is_inert(format, &ran.stdout, &ran);
                serde_json::from_str::<Value>(&ran.stdout).unwrap();
            }
        }
        if *format == "github" {
            let summary = folder.read("summary.md");
            summary_is_inert(&summary, &ran);
            let rows = summary.lines().filter(|line| line.starts_with("| ")).count();
            assert!(rows > 50, "{rows} rows: {summary}");
        }
    }
}

#[test]
fn no_text_of_a_cluster_acts() {
    for pieces in pieces().chunks(6) {
        try_all(&pieces.concat(), &["text", "github"]);
    }
}

proptest! {
    #![proptest_config(Config { cases: 4, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_mixture_in_a_cluster_acts(text in hostile()) {
        try_all(&text, &["text", "github", "json", "sarif", "gitlab", "junit"]);
    }
}
