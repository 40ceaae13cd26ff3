//! Kustomizations that change the document that is open.

use serde_json::json;

use super::{
    RULE,
    editor::{Editor, rules},
};
use crate::folder::{Folder, on_delete};

#[test]
fn the_kustomizations_of_the_repository_count() {
    let part = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  \
                selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
                spec: {containers: [{name: main, readinessProbe: {exec: {command: [ok]}}}]}\n";
    let overlay = "resources: [../../base]\npatches: [{path: image.yaml}]\n";
    let mut editor = Editor::start(
        Folder::new([
            ("base/set.yaml", part),
            ("base/kustomization.yaml", "resources: [set.yaml]\n"),
            ("overlays/prod/kustomization.yaml", overlay),
            ("tests/agent.yaml", &on_delete("agent", "")),
        ]),
        &[],
    );
    editor.folder.commit();
    editor.initialize(&json!({}));
    editor.notify("initialized", &json!({}));
    let (error, hint) = (1, 4);
    let found = editor.open("base/set.yaml", part);
    assert_eq!(rules(&found), ["pod-template-validation"]);
    assert_eq!(found[0]["severity"], hint, "{found:?}");
    // Without the patch, the API server refuses the set.
    let name = "overlays/prod/kustomization.yaml";
    editor.folder.write(name, "resources: [../../base]\n");
    let document = json!({ "textDocument": { "uri": editor.uri(name) } });
    editor.notify("textDocument/didSave", &document);
    let found = editor.diagnostics("base/set.yaml");
    assert_eq!(found[0]["severity"], error, "{found:?}");
    // A warning about a test is only a note, as in a check of the repository.
    let found = editor.open("tests/agent.yaml", &on_delete("agent", ""));
    assert_eq!((rules(&found), &found[0]["severity"]), (vec![RULE], &json!(hint)));
}
