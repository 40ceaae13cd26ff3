//! The language server, driven like an editor drives it.

mod editor;
mod hostile;
mod kustomizations;

use self::editor::{Editor, applied, range, rules};
use crate::prelude::*;

const RULE: &str = "on-delete-ignores-rolling-update";

#[test]
fn a_session_begins_and_ends() {
    let mut editor = Editor::start(Folder::new([]), &["--stdio"]);
    assert_eq!(editor.respond("textDocument/hover", &json!({}))["error"]["code"], -32002);
    let result = editor.initialize(&json!({}));
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(result["serverInfo"]["name"], "setguard");
    assert_eq!(editor.respond("textDocument/rename", &json!({}))["error"]["code"], -32601);
    assert_eq!(editor.respond("textDocument/hover", &json!({}))["error"]["code"], -32602);
    assert_eq!(editor.respond("initialize", &json!({}))["error"]["code"], -32600);
    assert_eq!(editor.exit(), (Some(0), String::new()));

    // Without `shutdown`, and without `exit`.
    let mut editor = Editor::new([]);
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.end(), (Some(1), String::new()));
    assert_eq!(Editor::new([]).end(), (Some(1), String::new()));
}

#[test]
fn findings_come_as_the_text_changes_and_go_when_it_is_closed() {
    let mut editor = Editor::new([]);
    let text = on_delete("agent", "");
    let found = editor.open("a.yaml", &text);
    assert_eq!(rules(&found), [RULE]);
    let line = text.lines().position(|line| line.contains("rollingUpdate")).unwrap();
    assert_eq!(found[0]["range"]["start"], json!({ "line": line, "character": 4 }));
    assert_eq!((&found[0]["severity"], &found[0]["source"]), (&json!(2), &json!("setguard")));
    let href = format!("https://setguard.io/rules/{RULE}.html");
    assert_eq!(found[0]["codeDescription"]["href"], href.as_str());
    // First a part of the text, then the whole text.
    let type_line = text.lines().position(|line| line.contains("OnDelete")).unwrap() as u32;
    let change = json!({ "range": range(type_line, 10, 18), "text": "RollingUpdate" });
    assert_eq!(editor.change("a.yaml", &[change]), [] as [Value; 0]);
    assert_eq!(rules(&editor.change("a.yaml", &[json!({ "text": text })])), [RULE]);
    let uri = editor.uri("a.yaml");
    editor.notify("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(editor.diagnostics("a.yaml"), [] as [Value; 0]);
    assert_eq!(editor.exit().0, Some(0));
}

#[test]
fn a_finding_names_its_field_and_the_other_places() {
    let mut editor = Editor::new([]);
    let text = on_delete("agent", "").replacen("app: agent", "ap: agent", 1);
    let found = editor.open("a.yaml", &text);
    let found = found.iter().find(|it| it["code"] == "api-validation").unwrap();
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("spec.template.metadata.labels: Invalid value: "), "{message}");
    let places = found["relatedInformation"].as_array().unwrap();
    let lines = places.iter().map(|it| {
        let (start, label) = (&it["location"]["range"]["start"], it["message"].as_str().unwrap());
        (text.lines().nth(start["line"].as_u64().unwrap() as usize).unwrap().trim(), label)
    });
    let wanted = [("ap: agent", "selects `ap: agent`"), ("app: agent", "did you mean `ap`?")];
    assert!(lines.zip(wanted).all(|((line, label), it)| line.contains(it.0) && label == it.1));
    assert!(places.iter().all(|it| it["location"]["uri"] == editor.uri("a.yaml").as_str()));
}

#[test]
fn characters_are_counted_as_the_editor_counts_them() {
    let text = on_delete("agent", "").replace(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "    { type: OnDelete, \"x🦀é\": 1, rollingUpdate: {maxUnavailable: 2} }\n",
    );
    let text = text.replace("    type: OnDelete\n", "");
    let line = text.lines().find(|line| line.contains("🦀")).unwrap();
    let at = line.find("rollingUpdate").unwrap();
    let of = |encoding: &[&str]| {
        let capabilities = json!({ "general": { "positionEncodings": encoding } });
        let mut editor = Editor::with([], &[], &capabilities);
        let found = editor.open("a.yaml", &text);
        let found = found.iter().find(|it| it["code"] == RULE).unwrap().clone();
        found["range"]["start"]["character"].as_u64().unwrap()
    };
    assert_eq!(of(&["utf-32", "utf-8"]), at as u64);
    assert_eq!(of(&["utf-16"]), line[..at].encode_utf16().count() as u64);
}

#[test]
fn an_editor_shows_what_a_check_of_the_folder_finds() {
    let mut editor = Editor::new([]);
    let mut seen = 0;
    for (path, text) in support::cases().into_iter().step_by(3) {
        // A folder check doesn't know how a file further below is applied.
        let folder = Folder::new([("below/a.yaml", text.as_str())]);
        let (_, report) = folder.json("--allow-empty .");
        let all = report["findings"].as_array().unwrap().iter();
        let mut checked: Vec<_> = all
            .map(|it| {
                let severity = match it["severity"].as_str().unwrap() {
                    "error" => 1,
                    "warning" => 2,
                    _ if it["eased"].is_string() => 4,
                    _ => 3,
                };
                let line = it["line"].as_u64().unwrap() - 1;
                (line, it["rule"].as_str().unwrap().to_owned(), severity)
            })
            .collect();
        let found = editor.open("a.yaml", &text);
        let mut shown: Vec<_> = found
            .iter()
            .filter(|it| it["code"].is_string())
            .map(|it| {
                let line = it["range"]["start"]["line"].as_u64().unwrap();
                (line, it["code"].as_str().unwrap().to_owned(), it["severity"].as_u64().unwrap())
            })
            .collect();
        checked.sort();
        shown.sort();
        assert_eq!(shown, checked, "{}", path.display());
        seen += shown.len();
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn what_is_no_manifest_has_no_findings() {
    let chart = "apiVersion: v2\nname: c\nversion: 1.0.0\n";
    let faulty = on_delete("agent", "");
    let mut editor = Editor::new([
        ("chart/Chart.yaml", chart),
        ("setguard.yaml", &*policy("exclude: [excluded]\n")),
        (".git/HEAD", ""),
        (".gitignore", "ignored/\nlocal.yaml\n"),
        ("ignored/a.yaml", &*faulty),
        ("local.yaml", &*faulty),
        ("sub/vendor/a.yaml", &*faulty),
        ("testdata/below/a.yaml", &*faulty),
    ]);
    for (language, name, text) in [
        ("yaml", "values.yaml", "replicas: [1, 2\n"),
        ("yaml", "list.yaml", "- a\n- b\n"),
        ("yaml", "text.yaml", "just text"),
        ("json", "package.json", "{\"name\": \"x\"}"),
        ("yaml", "t.yaml", "apiVersion: apps/v1\nkind: DaemonSet\n{{- if .Values.a }}\n"),
        ("yaml", "empty.yaml", ""),
        ("yaml", "nul.yaml", "\0\u{1b}\u{feff}\u{2028}"),
        // A folder check skips these too.
        ("yaml", "excluded/a.yaml", &faulty),
        ("yaml", "ignored/a.yaml", &faulty),
        ("yaml", "local.yaml", &faulty),
        ("yaml", "sub/vendor/a.yaml", &faulty),
        ("yaml", "sub/vendor/new.yaml", &faulty),
        ("yaml", "testdata/below/a.yaml", &faulty),
        ("helm", "a.tpl", &faulty),
    ] {
        let found = editor.open_as(language, name, text);
        assert_eq!(found, [] as [Value; 0], "{name}");
    }
    // A folder check reads these; one has a syntax error.
    let broken = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: [\n";
    assert_eq!(rules(&editor.open("broken.yaml", broken)), ["schema"]);
    assert_eq!(rules(&editor.open("chart/templates/a.yaml", &faulty)), [RULE]);
}

#[test]
fn the_policy_of_the_folder_counts_and_may_change() {
    let mut editor = Editor::with(
        [(".git/HEAD", "")],
        &[],
        &json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } }),
    );
    let request = editor.next().unwrap();
    assert_eq!(request["method"], "client/registerCapability", "{request}");
    editor.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": null }));
    let text = on_delete("agent", "");
    assert_eq!(rules(&editor.open("a.yaml", &text)), [RULE]);
    let changed = |editor: &mut Editor, policy: &str| {
        editor.folder.write("setguard.yaml", policy);
        let uri = editor.uri("setguard.yaml");
        let params = json!({ "changes": [{ "uri": uri, "type": 2 }] });
        editor.notify("workspace/didChangeWatchedFiles", &params);
    };
    let mode = |mode: &str| policy(&format!("rules:\n  {RULE}: {mode}\n"));
    let exempt = |files: &str| {
        policy(&format!("exceptions:\n- {{files: [{files}], rules: [{RULE}], reason: r}}\n"))
    };
    editor.folder.write("a.yaml", &text);
    changed(&mut editor, &exempt("b.yaml"));
    assert_eq!(editor.diagnostics("a.yaml")[0]["severity"], 2);
    changed(&mut editor, &exempt("a.yaml"));
    assert_ne!(editor.diagnostics("a.yaml")[0]["severity"], 2);
    changed(&mut editor, &mode("off"));
    assert_eq!(editor.diagnostics("a.yaml"), [] as [Value; 0]);
    // An invalid policy has no effect, and its message has a position.
    changed(&mut editor, &mode("sometimes"));
    let message = editor.expect("window/showMessage");
    let message = message["message"].as_str().unwrap();
    assert!(message.contains("setguard.yaml:4:"), "{message}");
    assert!(message.contains("the earlier policy is in effect"), "{message}");
    assert_eq!(editor.diagnostics("a.yaml"), [] as [Value; 0]);
    let problems = editor.open("setguard.yaml", &mode("sometimes"));
    assert_eq!(problems[0]["range"]["start"]["line"], 3, "{problems:?}");
    changed(&mut editor, &mode("deny"));
    assert_eq!(editor.diagnostics("a.yaml")[0]["severity"], 1);
    assert_eq!(editor.exit().0, Some(0));
}

#[test]
fn the_policy_of_the_first_folder_counts_for_all_and_the_server_says_so() {
    let mut editor = Editor::start(Folder::new([("one/.git/HEAD", ""), ("two/a.yaml", "")]), &[]);
    let folders = ["one", "two"].map(|it| json!({ "uri": editor.uri(it), "name": it }));
    editor.ask("initialize", &json!({ "workspaceFolders": folders, "capabilities": {} }));
    editor.notify("initialized", &json!({}));
    let message = editor.expect("window/showMessage")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("one for all folders"), "{message}");
}

#[test]
fn the_flags_choose_the_policy_and_the_release() {
    let off = policy(&format!("rules:\n  {RULE}: \"off\"\n"));
    let text = on_delete("agent", "");
    let files = [("p/policy.yaml", off.as_str()), (".git/HEAD", "")];
    let mut editor = Editor::with(files, &["--policy", "p/policy.yaml"], &json!({}));
    assert_eq!(editor.open("a.yaml", &text), [] as [Value; 0]);
    let files = [("setguard.yaml", off.as_str()), (".git/HEAD", "")];
    let mut editor = Editor::with(files, &["--no-config"], &json!({}));
    assert_eq!(rules(&editor.open("a.yaml", &text)), [RULE]);
    let editor = Editor::start(Folder::new([]), &["--kube-version", "9"]);
    assert_eq!(editor.end().0, Some(2));
}

#[test]
fn changes_of_immutable_fields_are_found_against_a_commit() {
    let text = on_delete("agent", "");
    let changed = text.replace("{app: agent}", "{app: other}");
    let folder = Folder::new([("deploy/a.yaml", text.as_str())]);
    folder.commit();
    let mut editor = Editor::start(folder, &["--against-ref", "HEAD"]);
    editor.initialize(&json!({}));
    assert_eq!(rules(&editor.open("deploy/a.yaml", &text)), [RULE]);
    let found = editor.change("deploy/a.yaml", &[json!({ "text": changed })]);
    assert!(rules(&found).contains(&"api-validation"), "{found:?}");
    // A commit moves the start of the change.
    editor.folder.write("deploy/a.yaml", &changed);
    editor.folder.commit();
    let uri = editor.uri("deploy/a.yaml");
    editor.notify("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(rules(&editor.diagnostics("deploy/a.yaml")), [RULE]);
    assert_eq!(rules(&editor.open("deploy/new.yaml", &changed)), [RULE]);

    // Without the commit, the editor shows the reason, and setguard checks the rest.
    let files = [("a.yaml", text.as_str())];
    let mut editor = Editor::with(files, &["--against-ref", "nowhere"], &json!({}));
    let uri = editor.uri("a.yaml");
    let document = json!({ "uri": uri, "version": 1, "text": text });
    editor.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    let message = editor.expect("window/showMessage");
    assert!(message["message"].as_str().unwrap().contains("--against-ref"), "{message}");
    assert_eq!(rules(&editor.diagnostics("a.yaml")), [RULE]);
}

fn set(name: &str, replicas: u32, tag: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {name}\nspec:\n  serviceName: {name}\n  \
         replicas: {replicas}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: \
         {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: a, image: \"a:{tag}\"}}]}}\n"
    )
}

#[test]
fn a_lens_says_what_the_change_since_the_commit_does_to_the_pods() {
    let pair = format!("{}---\n{}", set("db", 3, "v1"), set("queue", 2, "v1"));
    let folder = Folder::new([("deploy/a.yaml", pair.as_str())]);
    folder.commit();
    let mut editor = Editor::start(folder, &["--against-ref", "HEAD"]);
    editor.initialize(&json!({}));
    let params = json!({ "textDocument": { "uri": editor.uri("deploy/a.yaml") } });
    editor.open("deploy/a.yaml", &pair);
    assert_eq!(editor.ask("textDocument/codeLens", &params), json!([]));
    let new = format!("{}---\n{}", set("db", 3, "v1"), set("queue", 2, "v2"));
    editor.change("deploy/a.yaml", &[json!({ "text": new })]);
    let lenses = editor.ask("textDocument/codeLens", &params);
    let lens = &lenses.as_array().unwrap()[..];
    assert_eq!(lens.len(), 1, "{lens:?}");
    let line = new.lines().position(|it| it.contains("name: queue")).unwrap() - 3;
    assert_eq!(lens[0]["range"]["start"]["line"], line, "{lens:?}");
    let title = "setguard plan: at most 1 pod is down at a time, of 2";
    assert_eq!(lens[0]["command"]["title"], title, "{lens:?}");
    let policy = json!({ "textDocument": { "uri": editor.uri("setguard.yaml") } });
    assert_eq!(editor.ask("textDocument/codeLens", &policy), json!([]));
}

#[test]
fn a_request_for_many_findings_gets_few_actions() {
    let mut editor = Editor::new([]);
    let objects = (0..40).map(|i| on_delete(&format!("agent-{i}"), ""));
    let text = objects.collect::<Vec<_>>().join("---\n");
    assert_eq!(editor.open("a.yaml", &text).len(), 40);
    let actions = editor.actions("a.yaml", &range(0, 0, 0), &json!({}));
    assert_eq!(actions, [] as [Value; 0]);
    let mut everything = range(0, 0, 0);
    everything["end"]["line"] = json!(9999);
    let actions = editor.actions("a.yaml", &everything, &json!({}));
    assert_eq!(actions.len(), 2 * 16 + 1);
    let fixed = applied(&text, actions.last().unwrap());
    assert_eq!(editor.change("a.yaml", &[json!({ "text": fixed })]), [] as [Value; 0]);
}

#[test]
fn a_rule_is_explained_where_it_finds_something() {
    let mut editor = Editor::new([]);
    let text = on_delete("agent", "");
    let found = editor.open("a.yaml", &text);
    let uri = editor.uri("a.yaml");
    let at = |position: &Value| json!({ "textDocument": { "uri": uri }, "position": position });
    let hover = editor.ask("textDocument/hover", &at(&found[0]["range"]["start"]));
    let explained = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(hover["contents"]["kind"], "markdown");
    assert!(explained.starts_with(&format!("### [{RULE}](https://setguard.io/")), "{explained}");
    for part in ["#### Bad\n\n```yaml\n", "#### Good\n\n```yaml\n", "Default: `warn`"] {
        assert!(explained.contains(part), "{explained}");
    }
    let elsewhere = at(&json!({ "line": 0, "character": 0 }));
    assert_eq!(editor.ask("textDocument/hover", &elsewhere), Value::Null);
}

#[test]
fn a_finding_can_be_fixed_or_exempted() {
    let mut editor = Editor::new([]);
    let text = on_delete("agent", "");
    let found = editor.open("a.yaml", &text);
    let range = &found[0]["range"];
    let actions = editor.actions("a.yaml", range, &json!({ "diagnostics": [] }));
    let titles: Vec<_> = actions.iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "Remove spec.updateStrategy.rollingUpdate",
            "Exempt from on-delete-ignores-rolling-update by a comment",
            "Fix all that setguard can fix",
        ]
    );
    assert_eq!(actions[0]["isPreferred"], true);
    assert_eq!(actions[0]["diagnostics"], json!([found[0]]));
    let fixed = applied(&text, &actions[0]);
    assert_eq!(fixed, text.replace("    rollingUpdate:\n      maxUnavailable: 2\n", ""));
    assert_eq!(applied(&text, &actions[2]), fixed);
    let exempted = applied(&text, &actions[1]);
    let comment = format!("    # setguard: ignore[{RULE}] reason\n    rollingUpdate:");
    assert_eq!(exempted, text.replace("    rollingUpdate:", &comment));
    let eased = editor.change("a.yaml", &[json!({ "text": exempted })]);
    assert_eq!((rules(&eased), &eased[0]["severity"]), (vec![RULE], &json!(4)));
    assert_eq!(editor.change("a.yaml", &[json!({ "text": fixed })]), [] as [Value; 0]);

    // Only the requested kinds.
    editor.change("a.yaml", &[json!({ "text": text })]);
    let only = json!({ "diagnostics": [], "only": ["source.fixAll"] });
    assert_eq!(editor.actions("a.yaml", range, &only).len(), 1);
    let only = json!({ "diagnostics": [], "only": ["refactor"] });
    assert_eq!(editor.actions("a.yaml", range, &only).len(), 0);
}

#[test]
fn a_misspelt_name_can_be_replaced() {
    let mut editor = Editor::new([]);
    let good = on_delete("agent", "").replace("    rollingUpdate:\n      maxUnavailable: 2\n", "");
    for (right, wrong) in [("updateStrategy:", "updateStategy:"), ("labels: {app:", "labels: {ap:")]
    {
        let text = good.replace(right, wrong);
        assert_ne!(text, good);
        let found = editor.open("a.yaml", &text);
        let actions = editor.actions("a.yaml", &found[0]["range"], &json!({}));
        assert_eq!(applied(&text, &actions[0]), good);
        assert_eq!(actions[0]["isPreferred"], false);
    }
}

/// The open findings without positions, because an edit moves them.
fn open_findings(diagnostics: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| {
        let parts = value.as_str().unwrap_or_default().split("a.yaml:");
        let parts = parts.map(|it| it.trim_start_matches(|c: char| c.is_ascii_digit()));
        parts.collect::<Vec<_>>().join("a.yaml")
    };
    let open = diagnostics.iter().filter(|it| it["severity"] != 4);
    let mut open: Vec<_> = open.map(|it| (text(&it["code"]), text(&it["message"]))).collect();
    open.sort();
    open
}

#[test]
fn every_action_removes_its_finding_and_no_other_appears() {
    let mut editor = Editor::new([]);
    let (mut fixes, mut exemptions) = (0, 0);
    for (path, text) in support::cases() {
        let found = editor.open("a.yaml", &text);
        let before = open_findings(&found);
        let mut everything = range(0, 0, 0);
        everything["end"]["line"] = json!(99_999);
        let only = json!({ "only": ["quickfix"] });
        for action in editor.actions("a.yaml", &everything, &only) {
            let now = editor.change("a.yaml", &[json!({ "text": applied(&text, &action) })]);
            let now = open_findings(&now);
            let removed: Vec<_> = before.iter().filter(|it| !now.contains(it)).collect();
            let rule = action["diagnostics"][0]["code"].as_str().unwrap();
            let why = format!("{}: {}: {now:?}", path.display(), action["title"]);
            assert!(now.len() < before.len(), "{why}");
            assert!(now.iter().all(|it| before.contains(it)), "{why}");
            assert!(removed.iter().all(|(code, _)| code == rule), "{why}");
            match action["title"].as_str().unwrap().starts_with("Exempt") {
                true => exemptions += 1,
                false => fixes += 1,
            }
        }
    }
    assert!(fixes > 10 && exemptions > 50, "{fixes} fixes, {exemptions} exemptions");
}

#[test]
fn a_comment_is_put_where_it_covers_the_finding() {
    let (_, text) = support::cases()
        .into_iter()
        .find(|(path, _)| path.ends_with("warn.above-replicas.yaml"))
        .unwrap();
    // A comment above the value would cover the following lines.
    let block = "\n      partition:\n        5";
    let text = text.replace(" {partition: 5}", block);
    assert!(text.contains(block));
    let mut editor = Editor::new([]);
    let found = editor.open("a.yaml", &text);
    assert_eq!(rules(&found), ["partition-covers-all"], "{text}");
    let only = json!({ "only": ["quickfix"] });
    let actions = editor.actions("a.yaml", &found[0]["range"], &only);
    let exempt = actions.iter().find(|it| it["title"].as_str().unwrap().starts_with("Exempt"));
    let now = applied(&text, exempt.unwrap());
    assert!(now.contains("        5 # setguard: ignore[partition-covers-all]"), "{now}");
    assert_eq!(editor.change("a.yaml", &[json!({ "text": now })])[0]["severity"], 4);
}

#[test]
fn a_denial_cannot_be_exempted_and_json_has_no_comments() {
    let mut editor = Editor::new([]);
    let denied = on_delete("agent", "").replace("agent", "Agent");
    let found = editor.open("a.yaml", &denied);
    let error = found.iter().find(|it| it["severity"] == 1).unwrap();
    let actions = editor.actions("a.yaml", &error["range"], &json!({}));
    let is_about = |action: &Value, code: &Value| action["diagnostics"][0]["code"] == *code;
    assert!(!actions.iter().any(|it| is_about(it, &error["code"])), "{actions:?}");
    let text = setguard::yaml::parse(&on_delete("agent", ""))[0].as_ref().unwrap().root.to_json();
    let found = editor.open_as("json", "a.json", &text);
    assert_eq!(rules(&found), [RULE]);
    let actions = editor.actions("a.json", &found[0]["range"], &json!({}));
    let titles: Vec<_> = actions.iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert!(!titles.iter().any(|title| title.starts_with("Exempt")), "{titles:?}");
    assert_eq!(titles[0], "Remove spec.updateStrategy.rollingUpdate");
    assert_eq!(applied(&text, &actions[0]).matches("rollingUpdate").count(), 0);
}

#[test]
fn ids_are_completed_where_they_exempt_and_in_the_policy() {
    let mut editor = Editor::new([]);
    let labels = |editor: &mut Editor, name: &str, text: &str, line: &str| {
        let text = format!("{text}{line}");
        editor.open(name, &text);
        let (line, character) = (text.lines().count() - 1, line.chars().count());
        let position = json!({ "line": line, "character": character });
        let uri = editor.uri(name);
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        let answer = editor.respond("textDocument/completion", &params);
        let mut items = answer["result"].as_array().unwrap().clone();
        items.sort_by_key(|it| it["sortText"].as_str().unwrap().to_owned());
        let starts = items.iter().map(|it| it["textEdit"]["range"]["start"]["character"].clone());
        starts
            .zip(&items)
            .map(|(start, it)| format!("{}@{start}", it["label"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let text = on_delete("agent", "");
    let comment = labels(&mut editor, "a.yaml", &text, "# setguard: ignore[on-del");
    assert_eq!(comment[0], format!("{RULE}@19"));
    assert!(comment.iter().all(|it| it != "surge-host-port@19"), "a denial");
    let annotation = labels(&mut editor, "b.yaml", "", "  annotations: {setguard.io/ignore: 'a,");
    assert!(annotation.iter().any(|it| *it == format!("{RULE}@39")), "{annotation:?}");
    for line in ["metadata: ", "# ignore[", "# setguard: ignore[a] ", "setguard.io/ignor"] {
        assert_eq!(labels(&mut editor, "c.yaml", "", line), [] as [String; 0], "{line}");
    }
    let entry = "exceptions:\n- names: [a]\n  # Why.\n  rules:\n";
    for (text, line, word) in [
        ("rules:\n", "  ", "surge-host-port@2"),
        ("rules:\n", "  surge-", "surge-host-port@2"),
        ("exceptions:\n", "  - rules: [", "surge-host-port@12"),
        (entry, "  - surge", "surge-host-port@4"),
        ("rules:\n", "  surge-host-port: d", "deny@19"),
        ("apiVersion: a\n", "ru", "rules@0"),
        ("kubernetes:\n", "  fea", "featureGates@2"),
        ("kubernetes:\n  podSecurity:\n", "    enforce: ", "baseline@13"),
        ("exceptions:\n- names: [a]\n", "  na", "namespaces@2"),
        ("exceptions:\n  - rules: [a]\n", "  - ", "reason@4"),
    ] {
        let offered = labels(&mut editor, "setguard.yaml", text, line);
        assert!(offered.iter().any(|it| it == word), "{text}{line}: {offered:?}");
        // Nothing from elsewhere.
        assert!(!offered.iter().any(|it| it.starts_with("metadata@")) || text.starts_with("api"));
    }
    for line in ["  # sur", "  surge-host-port: deny x", "  unknown: "] {
        let offered = labels(&mut editor, "setguard.yaml", "limits:\n", line);
        assert_eq!(offered, [] as [String; 0], "{line}");
    }
    let text = "kubernetes:\n  podSecurity:\n    enforce: baseline\n";
    editor.open("setguard.yaml", text);
    let params = json!({
        "textDocument": { "uri": editor.uri("setguard.yaml") },
        "position": { "line": 1, "character": 4 }
    });
    let hover = editor.respond("textDocument/hover", &params);
    let value = hover["result"]["contents"]["value"].as_str().unwrap();
    assert!(value.contains("Pod Security"), "{value}");
}
