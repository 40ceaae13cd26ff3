//! Kustomizations that change the open document.

use super::{
    RULE,
    editor::{Editor, rules},
};
use crate::prelude::*;

#[test]
fn the_kustomizations_of_the_repository_lower_warnings_only() {
    let set = on_delete("agent", "");
    let part = set.replace("        image: example.com/main:1.0.0\n", "");
    let patch = "{kind: DaemonSet, spec: {updateStrategy: {rollingUpdate: null}, template: {spec: {\
                 containers: [{name: main, image: a}]}}}}";
    let overlay = format!("resources: [../../base]\npatches:\n- patch: |-\n    {patch}\n");
    let mut editor = Editor::start(
        Folder::new([
            ("base/set.yaml", part.as_str()),
            ("base/kustomization.yaml", "resources: [set.yaml]\n"),
            ("overlays/prod/kustomization.yaml", &overlay),
            ("tests/agent.yaml", &set),
        ]),
        &[],
    );
    editor.folder.commit();
    editor.initialize(&json!({}));
    editor.notify("initialized", &json!({}));
    let (error, warning, hint) = (1, 2, 4);
    let severities = |found: &[serde_json::Value]| {
        let of =
            |it: &serde_json::Value| (it["code"].to_string(), it["severity"].as_u64().unwrap());
        let coded = found.iter().filter(|it| it["code"].is_string());
        coded.map(of).collect::<std::collections::BTreeMap<_, _>>()
    };
    let (rule, refused) = (format!("{RULE:?}"), "\"pod-template-validation\"");
    let found = severities(&editor.open("base/set.yaml", &part));
    assert_eq!((found[&rule], found[refused]), (hint, error));
    let name = "overlays/prod/kustomization.yaml";
    editor.folder.write(name, "resources: [../../base]\n");
    let document = json!({ "textDocument": { "uri": editor.uri(name) } });
    editor.notify("textDocument/didSave", &document);
    let found = severities(&editor.diagnostics("base/set.yaml"));
    assert_eq!((found[&rule], found[refused]), (warning, error));
    // As in a repository check, a warning about a test is only a note.
    let found = editor.open("tests/agent.yaml", &set);
    assert_eq!((rules(&found), &found[0]["severity"]), (vec![RULE], &json!(hint)));
}
