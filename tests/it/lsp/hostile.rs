//! Messages that no editor sends.

use proptest::prelude::*;

use super::editor::{Editor, rules};
use crate::lsp::RULE;
use crate::prelude::*;

#[test]
fn a_damaged_message_is_reported_and_the_session_goes_on() {
    let mut editor = Editor::new([]);
    let text = on_delete("agent", "");
    editor.open("a.yaml", &text);
    let nested = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let too_long = b" ".repeat((128 << 20) + 1);
    for body in [
        &b""[..],
        b"{",
        b"\xff\xfe\xfd",
        b"[]",
        b"{\"method\": \"\xc3\x28\"}",
        b"{\"method\":\"textDocument/didOpen\"}",
        &nested,
        &too_long,
    ] {
        editor.write(format!("content-length: {}\r\nX: y\r\n\r\n", body.len()).as_bytes());
        editor.write(body);
        let closed = editor.diagnostics("a.yaml");
        assert_eq!(closed, [] as [Value; 0]);
        let message = editor.expect("window/showMessage");
        assert!(message["message"].as_str().unwrap().contains("closed and opened"), "{message}");
        assert_eq!(rules(&editor.open("a.yaml", &text)), [RULE]);
    }
    assert_eq!(editor.exit(), (Some(0), String::new()));
}

#[test]
fn input_of_unknown_length_ends_the_session_with_the_reason() {
    let endless = "a".repeat(17 << 10);
    for (input, reason) in [
        ("hello\r\n\r\n", "without Content-Length"),
        ("Content-Type: text\r\n\r\n{}", "without Content-Length"),
        ("\r\n", "without Content-Length"),
        ("Content-Length: 99999999\r\n\r\n{}", "an incomplete message"),
        ("Content-Length: 18446744073709551615\r\n\r\n{}", "an incomplete message"),
        ("Content-Length: 99999999999999999999\r\n\r\n{}", "isn't a number"),
        ("Content-Length: -1\r\n\r\n", "isn't a number"),
        ("Content-Length: 2", "too long or incomplete"),
        ("Content-Length: 2\r\n", "too long or incomplete"),
        (&endless, "too long or incomplete"),
    ] {
        let mut editor = Editor::new([]);
        editor.write(input.as_bytes());
        let (code, stderr) = editor.end();
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(reason) && !stderr.contains("panic"), "{stderr}");
    }
}

/// Few kinds of values, so that many messages are nearly valid.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        (0..5_u32).prop_map(Value::from),
        "[a-z:{}\\[\\]\n #🦀-]{0,20}".prop_map(Value::from),
        Just(json!("untitled:a")),
        Just(json!(on_delete("agent", ""))),
    ];
    let keys = [
        "textDocument", "uri", "text", "contentChanges", "range", "start", "end", "line",
        "character", "position", "context", "only", "capabilities", "version",
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(keys.to_vec()), inner), 0..4)
                .prop_map(|entries| entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

fn change() -> impl Strategy<Value = Value> {
    let position = || (0..40_u32, 0..60_u32).prop_map(|(l, c)| json!({"line": l, "character": c}));
    let text = "[a-z:{}\\[\\]\r\n #🦀\u{feff}-]{0,12}";
    (position(), position(), text).prop_map(|(start, end, text)| {
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        let document = json!({ "uri": "untitled:a" });
        json!({ "textDocument": document, "contentChanges": [change], "range": { "start": start, "end": end },
            "position": start })
    })
}

fn message() -> impl Strategy<Value = Value> {
    let methods = [
        "initialize", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose",
        "textDocument/hover", "textDocument/codeAction", "textDocument/codeLens",
        "workspace/didChangeWatchedFiles", "x",
    ];
    let id = prop_oneof![Just(Value::Null), (0..9_i32).prop_map(Value::from), value()];
    let params = prop_oneof![value(), change(), change()];
    (prop::sample::select(methods.to_vec()), id, params)
        .prop_map(|(method, id, params)| json!({ "id": id, "method": method, "params": params }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_message_stops_the_server(messages in prop::collection::vec(message(), 1..40)) {
        let mut editor = Editor::new([]);
        let document = json!({ "uri": "untitled:a", "languageId": "yaml", "version": 1,
            "text": on_delete("agent", "") });
        editor.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        editor.expect("textDocument/publishDiagnostics");
        let input = messages.iter().map(|it| it.to_string());
        let input = input.map(|it| format!("Content-Length: {}\r\n\r\n{it}", it.len()));
        let input: String = input.collect();
        // A pipe holds few answers, so a thread reads them.
        let mut stdin = editor.input.take().unwrap();
        let writer = std::thread::spawn(move || {
            let end = json!({ "id": "end", "method": "shutdown" }).to_string();
            stdin.write_all(input.as_bytes()).unwrap();
            stdin.write_all(format!("Content-Length: {}\r\n\r\n{end}", end.len()).as_bytes()).unwrap();
            stdin
        });
        while editor.next().unwrap()["id"] != "end" {}
        editor.input = Some(writer.join().unwrap());
        editor.notify("exit", &Value::Null);
        prop_assert_eq!(editor.end(), (Some(0), String::new()));
    }
}
