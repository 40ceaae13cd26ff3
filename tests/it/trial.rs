//! `setguard try`: the webhook over HTTPS, with a simulated API server.

use crate::prelude::*;

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
fn an_object_that_cannot_be_read_does_not_end_the_run() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: 5\n";
    let note = "x".repeat(3 << 20);
    let large = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: b, annotations: {{note: {note}}}}}\nspec: {{}}\n"
    );
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\nspec: {}\n";
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    let objects = [pod, &large, good].join("---\n");
    let output = support::feed(command.args(["try", "-"]), objects.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let printed = printed(&output);
    let wanted = ["Error from server (BadRequest)", "a Pod: invalid type", "  pod/c created\n"];
    wanted.iter().for_each(|text| assert!(printed.contains(text), "{text}: {printed}"));
}
