//! The objects that `check` relates to each other: those that are applied together.

use crate::{
    folder::{Folder, Ran},
    json_schema,
};

/// A DaemonSet with this name, whose selector every DaemonSet of this file has.
fn daemon(name: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: {name}, namespace: ops}}\nspec:\n  \
         selector: {{matchLabels: {{app: agent}}}}\n  template:\n    metadata: {{labels: {{app: agent}}}}\n    \
         spec:\n      nodeSelector: {{disk: ssd}}\n      containers: [{{name: main, image: \"agent:1\"}}]\n"
    )
}

fn node(uid: &str) -> String {
    format!("apiVersion: v1\nkind: Node\nmetadata: {{name: worker, uid: \"{uid}\"}}\n")
}

/// The ids of the rules with findings.
fn rules(folder: &Folder, args: &[&str]) -> Vec<String> {
    let ran: Ran = folder.setguard(&[&["check", "--format", "json"], args].concat());
    let report = json_schema::report(&ran.stdout);
    let findings = report["findings"].as_array().unwrap().iter();
    let mut rules: Vec<_> =
        findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect();
    rules.retain(|rule| rule == "selector-overlap" || rule == "no-node-matches");
    rules
}

#[test]
fn files_of_different_folders_are_not_neighbors() {
    let (a, b) = (daemon("gke"), daemon("eks"));
    let folder = Folder::new([("gke/agent.yaml", &*a), ("eks/agent.yaml", &b)]);
    assert_eq!(rules(&folder, &["."]), [""; 0]);
    assert_eq!(rules(&folder, &["gke", "eks"]), [""; 0]);
    // By name, they are applied together.
    let files = ["gke/agent.yaml", "eks/agent.yaml"];
    assert_eq!(rules(&folder, &files), ["selector-overlap"]);
}

#[test]
fn documents_of_a_file_are_neighbors() {
    let both = format!("{}---\n{}", daemon("a"), daemon("b"));
    let folder = Folder::new([("deep/down/agents.yaml", &*both)]);
    assert_eq!(rules(&folder, &["."]), ["selector-overlap"]);
}

#[test]
fn files_directly_in_a_folder_that_is_named_are_neighbors_unless_they_are_alternatives() {
    let (a, b) = (daemon("a"), daemon("b"));
    let folder = Folder::new([("deploy/a.yaml", &*a), ("deploy/b.yaml", &b)]);
    assert_eq!(rules(&folder, &["deploy"]), ["selector-overlap"]);
    assert_eq!(rules(&folder, &["."]), [""; 0]);
    folder.write("deploy/another-a.yaml", &a);
    assert_eq!(rules(&folder, &["deploy"]), [""; 0]);
}

#[test]
fn resources_of_one_kustomization_are_neighbors() {
    let (a, b) = (daemon("a"), daemon("b"));
    let folder = Folder::new([("base/a.yaml", &*a), ("base/more/b.yaml", &b)]);
    let resources = "resources: [a.yaml, ./more/b.yaml]\n";
    folder.write("base/kustomization.yaml", resources);
    assert_eq!(rules(&folder, &["."]), ["selector-overlap"]);
    // Which of two kustomizations is applied is not known.
    folder.write("other/kustomization.yaml", "resources: [../base/a.yaml]\n");
    assert_eq!(rules(&folder, &["."]), [""; 0]);
}

#[test]
fn files_that_the_policy_assigns_to_one_cluster_are_neighbors() {
    let policy = |clusters: &str| {
        format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\nclusters:\n{clusters}")
    };
    let (a, b) = (daemon("a"), daemon("b"));
    let prod = "- {name: prod, paths: [/clusters/prod, /shared]}\n";
    let folder = Folder::new([
        ("clusters/prod/a.yaml", &*a),
        ("clusters/test/a.yaml", &a),
        ("shared/b.yaml", &b),
        ("setguard.yaml", &policy(prod)),
    ]);
    // Only prod has two.
    assert_eq!(rules(&folder, &["."]), ["selector-overlap"]);
    assert_eq!(rules(&folder, &["shared", "clusters"]), ["selector-overlap"]);
    assert_eq!(rules(&folder, &[".", "--no-config"]), [""; 0]);
    // The objects of a file that several clusters have are related with none of them.
    let test = "- {name: test, paths: [/clusters/test, \"/shared/*.yaml\"]}\n";
    folder.write("setguard.yaml", policy(&format!("{prod}{test}")));
    assert_eq!(rules(&folder, &["."]), [""; 0]);
    for (faulty, field) in [
        (format!("{prod}{prod}"), "clusters[1].name: another cluster has this name"),
        ("- {name: '', paths: [a]}\n".to_owned(), "clusters[0].name: "),
        ("- {name: a, paths: []}\n".to_owned(), "clusters[0].paths: "),
        ("- {name: a, paths: ['a[z-a]']}\n".to_owned(), "clusters[0].paths[0]: "),
    ] {
        folder.write("setguard.yaml", policy(&faulty));
        folder.setguard(&["check", "."]).ends(2).reports(field);
    }
}

#[test]
fn nodes_count_only_if_they_are_said_to_be_those_of_the_cluster() {
    let (agent, mock, dump) = (daemon("agent"), node(""), node("0f0b1d86"));
    let folder = Folder::new([("agent.yaml", &*agent), ("test/node.yaml", &dump)]);
    assert_eq!(rules(&folder, &["."]), [""; 0]);
    folder.write("all.yaml", format!("{agent}---\n{}", mock.replace(", uid: \"\"", "")));
    assert_eq!(rules(&folder, &["all.yaml"]), [""; 0]);
    assert_eq!(rules(&folder, &["agent.yaml", "test/node.yaml"]), ["no-node-matches"]);
    folder.write("nodes.yaml", mock.replace(", uid: \"\"", ""));
    assert_eq!(rules(&folder, &["agent.yaml", "--inventory", "nodes.yaml"]), ["no-node-matches"]);
    let ssd = node("").replace(", uid: \"\"", ", labels: {disk: ssd}");
    folder.write("nodes.yaml", ssd);
    assert_eq!(rules(&folder, &["agent.yaml", "--inventory", "nodes.yaml"]), [""; 0]);
}

#[test]
fn an_inventory_that_cannot_be_read_is_an_error() {
    let agent = daemon("agent");
    let folder = Folder::new([("agent.yaml", &*agent), ("nodes.yaml", "{a: [\n")]);
    for inventory in ["nodes.yaml", "none.yaml"] {
        folder
            .setguard(&["check", "agent.yaml", "--inventory", inventory])
            .ends(2)
            .reports(inventory);
    }
}
