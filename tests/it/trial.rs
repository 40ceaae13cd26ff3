//! `setguard try`: the webhook over HTTPS, with a simulated API server.

use std::process::{Command, Output, Stdio};

use crate::support;
use setguard_testing::recorded::snapshot;

fn tried(text: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    support::feed(command.args(["try", "-"]), text.as_bytes())
}

fn printed(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let (before, after) = text.split_once("127.0.0.1:").expect("the address");
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}127.0.0.1:PORT{after}")
}

#[test]
fn the_examples_are_answered_as_kubectl_would_show_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_setguard"))
        .args(["try", "examples/manifests"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "a refusal is an answer");
    let text = printed(&output);
    snapshot("trial/the_examples_are_answered_as_kubectl_would_show_it", &text);
}

#[test]
fn a_namespace_of_the_input_requests_the_control_plane() {
    let output = tried(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ops\n  labels: {setguard.io/control-plane: \"true\"}\n\
         ---\n\
         apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: ops}\nspec:\n  \
         selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n    \
         spec: {containers: [{name: agent, image: agent:1}]}\n",
    );
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let calls = "    called: /mutate, /mutate/control-plane, /validate, /mutate\n";
    assert!(text.contains(calls), "{text}");
    let injected = "    injected: toleration node-role.kubernetes.io/control-plane:NoSchedule, \
                    toleration node-role.kubernetes.io/master:NoSchedule\n";
    assert!(text.contains(injected), "{text}");
    assert!(!text.contains("into its pods"), "they have them from the template: {text}");
}

#[test]
fn an_object_that_cannot_be_read_does_not_end_the_run() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: 5\n";
    let note = "x".repeat(3 << 20);
    let large = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: b, annotations: {{note: {note}}}}}\nspec: {{}}\n"
    );
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\nspec: {}\n";
    let output = tried(&[pod, &large, good].join("---\n"));
    assert_eq!(output.status.code(), Some(0));
    let printed = printed(&output);
    let wanted = ["Error from server (BadRequest)", "a Pod: invalid type", "  pod/c created\n"];
    wanted.iter().for_each(|text| assert!(printed.contains(text), "{text}: {printed}"));
}
