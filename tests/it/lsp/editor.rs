//! An editor that talks to the language server.

use std::{
    io::Read,
    process::{ChildStdin, ChildStdout},
};

use crate::prelude::*;

pub struct Editor {
    pub folder: Folder,
    child: Child,
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i32,
}

impl Editor {
    /// Starts the server with these arguments, but no session.
    pub fn start(folder: Folder, args: &[&str]) -> Self {
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.arg("lsp").args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Editor { folder, child, input, output: BufReader::new(output), last: 0 }
    }

    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Editor::with(files, &[], &json!({}))
    }

    pub fn with<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        args: &[&str],
        capabilities: &Value,
    ) -> Self {
        let mut editor = Editor::start(Folder::new(files), args);
        editor.initialize(capabilities);
        editor.notify("initialized", &json!({}));
        editor
    }

    pub fn initialize(&mut self, capabilities: &Value) -> Value {
        let root = self.uri("").trim_end_matches('/').to_owned();
        self.ask("initialize", &json!({ "rootUri": root, "capabilities": capabilities }))
    }

    pub fn uri(&self, name: &str) -> String {
        let path = self.folder.path(name).display().to_string().replace('\\', "/");
        // A Windows path begins with a drive.
        format!("file:///{}", path.trim_start_matches('/'))
    }

    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn next(&mut self) -> Option<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim().split_once(": ") {
                Some(("Content-Length", value)) => length = Some(value.parse().unwrap()),
                Some(other) => panic!("{other:?}"),
                None => break,
            }
        }
        let mut body = vec![0; length.unwrap()];
        self.output.read_exact(&mut body).unwrap();
        Some(serde_json::from_slice(&body).unwrap())
    }

    pub fn respond(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.next().unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let response = self.respond(method, params);
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    pub fn expect(&mut self, method: &str) -> Value {
        let message = self.next().unwrap();
        assert_eq!(message["method"], method, "{message}");
        message["params"].clone()
    }

    pub fn diagnostics(&mut self, name: &str) -> Vec<Value> {
        let params = self.expect("textDocument/publishDiagnostics");
        assert_eq!(params["uri"], self.uri(name), "{params}");
        params["diagnostics"].as_array().unwrap().clone()
    }

    pub fn open(&mut self, name: &str, text: &str) -> Vec<Value> {
        self.open_as("yaml", name, text)
    }

    pub fn open_as(&mut self, language: &str, name: &str, text: &str) -> Vec<Value> {
        let document =
            json!({ "uri": self.uri(name), "languageId": language, "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        self.diagnostics(name)
    }

    pub fn change(&mut self, name: &str, changes: &[Value]) -> Vec<Value> {
        let document = json!({ "uri": self.uri(name), "version": 2 });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.notify("textDocument/didChange", &params);
        self.diagnostics(name)
    }

    pub fn actions(&mut self, name: &str, range: &Value, context: &Value) -> Vec<Value> {
        let document = json!({ "uri": self.uri(name) });
        let params = json!({ "textDocument": document, "range": range, "context": context });
        self.ask("textDocument/codeAction", &params).as_array().unwrap().clone()
    }

    pub fn end(mut self) -> (Option<i32>, String) {
        self.input = None;
        while self.next().is_some() {}
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }

    pub fn exit(mut self) -> (Option<i32>, String) {
        self.ask("shutdown", &Value::Null);
        self.notify("exit", &Value::Null);
        self.end()
    }
}

pub fn rules(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|it| it["code"].as_str().unwrap_or("")).collect()
}

pub fn range(line: u32, from: u32, to: u32) -> Value {
    let at = |character| json!({ "line": line, "character": character });
    json!({ "start": at(from), "end": at(to) })
}

/// Applies a code action with UTF-16 positions to the text.
pub fn applied(text: &str, action: &Value) -> String {
    let edits = action["edit"]["changes"].as_object().unwrap().values().next().unwrap();
    let byte = |at: &Value| {
        let (line, character) = (at["line"].as_u64().unwrap(), at["character"].as_u64().unwrap());
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let line = usize::try_from(line).unwrap();
        let before: usize = lines.iter().take(line).map(|line| line.len()).sum();
        let mut units = 0;
        let within = lines.get(line).copied().unwrap_or_default().chars().take_while(|it| {
            units += it.len_utf16() as u64;
            units <= character
        });
        before + within.map(char::len_utf8).sum::<usize>()
    };
    let mut edits: Vec<_> = edits.as_array().unwrap().iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(byte(&edit["range"]["start"])));
    let mut text = text.to_owned();
    let bytes: Vec<_> = edits
        .iter()
        .map(|edit| byte(&edit["range"]["start"])..byte(&edit["range"]["end"]))
        .collect();
    for (edit, bytes) in edits.iter().zip(bytes) {
        text.replace_range(bytes, edit["newText"].as_str().unwrap());
    }
    text
}
