//! The server of the protocol: messages in, messages out. It does not touch standard input or output.

use std::mem;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::de::DeserializeOwned;
use setguard_files::manifests::{
    layout::Layout,
    path_context::{FolderContext, PathContext},
    repository::Repository,
};
use setguard_offline::check::editor::Earlier;

use super::{
    actions,
    address::path,
    completion,
    document::{Document, Kind},
    hover,
    policy::{PolicyInUse, Reading},
    position::Encoding,
    protocol::{AtPosition, DidChange, DidOpen, InRange, OfDocument},
};
use crate::cli::prelude::*;

/// The protocol's numbers for messages.
const ERROR: u8 = 1;
const WARNING: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    New,
    Running,
    ShutDown,
    /// `was_shut_down` is false if the editor sent no `shutdown` before `exit`.
    Ended {
        was_shut_down: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) phase: Phase,
    encoding: Encoding,
    /// Whether the editor can watch files.
    watches: bool,
    has_more_folders: bool,
    policy: PolicyInUse,
    against: Option<String>,
    /// By URI.
    documents: BTreeMap<String, Document>,
    /// `None` until a document needs the folders; `Some(None)` without a repository.
    folders: Option<Option<FolderContext>>,
    /// The URIs of the documents to check.
    changed: BTreeSet<String>,
    out: Vec<Message>,
}

impl Server {
    pub(super) fn new(policy: PolicyInUse, against: Option<String>) -> Self {
        Server { policy, against, ..Server::default() }
    }

    pub(super) fn handle(&mut self, message: Message) -> Vec<Message> {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => self.notification(notification),
            // The server sends only one request, and ignores the answer.
            Message::Response(_) => {}
        }
        mem::take(&mut self.out)
    }

    /// The message may have changed a document, so the server no longer knows the texts of its documents.
    pub(super) fn skipped(&mut self, reason: &str) -> Vec<Message> {
        let open = mem::take(&mut self.documents);
        self.changed.clear();
        for uri in open.into_keys() {
            self.publish(&uri, None, &[]);
        }
        self.show(&format!(
            "setguard could not read a message: {reason}; open documents are checked again after they \
             are closed and opened"
        ));
        mem::take(&mut self.out)
    }

    /// Returns no message if no document has changed.
    pub(super) fn check_next(&mut self) -> Vec<Message> {
        if let Some(uri) = self.changed.pop_first() {
            self.check(&uri);
        }
        mem::take(&mut self.out)
    }

    fn request(&mut self, Request { id, method, params }: Request) {
        let result = match (self.phase, method.as_str()) {
            (Phase::New, "initialize") => Ok(self.initialize(&params)),
            (Phase::New, _) => {
                Err((ErrorCode::ServerNotInitialized, "initialize comes first".to_owned()))
            }
            (Phase::Running, "shutdown") => {
                self.phase = Phase::ShutDown;
                Ok(Value::Null)
            }
            (Phase::Running, "textDocument/hover") => read(params).map(|it| self.hover(&it)),
            (Phase::Running, "textDocument/completion") => {
                read(params).map(|it| self.complete(&it))
            }
            (Phase::Running, "textDocument/codeAction") => read(params).map(|it| self.actions(&it)),
            (Phase::Running, "textDocument/codeLens") => read(params).map(|it| self.lenses(&it)),
            (Phase::Running, "initialize") => {
                Err((ErrorCode::InvalidRequest, "the session has begun already".to_owned()))
            }
            (Phase::Running, _) => {
                Err((ErrorCode::MethodNotFound, format!("there is no method {method}")))
            }
            (Phase::ShutDown | Phase::Ended { .. }, _) => {
                Err((ErrorCode::InvalidRequest, "the session has ended".to_owned()))
            }
        };
        self.out.push(Message::Response(match result {
            Ok(result) => Response { id, response_result: Ok(result) },
            Err((code, message)) => Response::new_err(id, code as i32, message),
        }));
    }

    fn notification(&mut self, Notification { method, params }: Notification) {
        if method == "exit" {
            self.phase = Phase::Ended { was_shut_down: self.phase == Phase::ShutDown };
        }
        if self.phase != Phase::Running {
            return;
        }
        let done = match method.as_str() {
            "initialized" => {
                self.watch();
                if self.has_more_folders {
                    let folder = self.policy.folder().display().to_string();
                    self.tell(
                        WARNING,
                        &format!(
                            "setguard uses the policy and the commit of {folder} for all folders"
                        ),
                    );
                }
                self.read_policy();
                Ok(())
            }
            "textDocument/didOpen" => read(params).map(|it| self.open(it)),
            "textDocument/didChange" => read(params).map(|it| self.change(it)),
            "textDocument/didClose" => read(params).map(|it| self.close(&it)),
            "textDocument/didSave" => read(params).map(|it| self.save(&it)),
            "workspace/didChangeWatchedFiles" => {
                self.read_policy();
                self.look_around();
                Ok(())
            }
            // The protocol has no answer to other notifications.
            _ => Ok(()),
        };
        if let Err((_, error)) = done {
            let messages = self.skipped(&format!("{method}: {error}"));
            self.out.extend(messages);
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.phase = Phase::Running;
        let folders = params["workspaceFolders"].as_array().map_or(&[][..], Vec::as_slice);
        self.has_more_folders = folders.len() > 1;
        let first = folders.first().map_or(&params["rootUri"], |it| &it["uri"]);
        let folder = first.as_str().and_then(path);
        let folder = folder.or_else(|| env::current_dir().ok()).unwrap_or_default();
        // git looks for the repository there too.
        let _ = env::set_current_dir(&folder);
        self.policy.repository = Repository::around(folder);
        let capabilities = &params["capabilities"];
        let offered = capabilities["general"]["positionEncodings"].as_array();
        if offered.into_iter().flatten().any(|it| it == Encoding::Utf8.as_str()) {
            self.encoding = Encoding::Utf8;
        }
        let watched = &capabilities["workspace"]["didChangeWatchedFiles"];
        self.watches = watched["dynamicRegistration"] == true;
        const INCREMENTAL: u8 = 2;
        json!({
            "capabilities": {
                "positionEncoding": self.encoding.as_str(),
                "textDocumentSync": { "openClose": true, "change": INCREMENTAL, "save": true },
                "hoverProvider": true,
                "completionProvider": { "triggerCharacters": completion::TRIGGERS },
                "codeLensProvider": {},
                "codeActionProvider": { "codeActionKinds": [actions::QUICK_FIX, actions::FIX_ALL] },
            },
            "serverInfo": { "name": "setguard", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Asks the editor to report changes of the policy and of kustomizations.
    fn watch(&mut self) {
        if !self.watches {
            return;
        }
        let kustomizations = Layout::KUSTOMIZATIONS.map(|name| format!("**/{name}"));
        let policies = ["**/setguard.yaml", "**/.setguard.yaml"].map(str::to_owned);
        let watchers = policies.into_iter().chain(kustomizations);
        let watchers: Vec<_> = watchers.map(|pattern| json!({ "globPattern": pattern })).collect();
        let registration = json!({
            "id": "policy",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": watchers },
        });
        let params = json!({ "registrations": [registration] });
        let id = RequestId::from("policy".to_owned());
        let request = Request { id, method: "client/registerCapability".to_owned(), params };
        self.out.push(Message::Request(request));
    }

    fn open(&mut self, DidOpen { text_document: opened }: DidOpen) {
        self.read_policy();
        let is_template = opened.language_id == "helm";
        let document = Document {
            name: self.name(&opened.uri),
            text: opened.text,
            version: opened.version,
            kind: self.kind(&opened.uri, is_template),
            is_template,
            context: self.path_context(&opened.uri),
            earlier: self.earlier(&opened.uri),
            findings: None,
        };
        self.documents.insert(opened.uri.clone(), document);
        self.changed.insert(opened.uri);
    }

    fn change(&mut self, DidChange { text_document: id, content_changes }: DidChange) {
        self.read_policy();
        // A change of a document that isn't open cannot be applied.
        let Some(document) = self.documents.get_mut(&id.uri) else { return };
        document.change(content_changes, self.encoding);
        document.version = id.version;
        self.changed.insert(id.uri);
    }

    /// Compares a document with its earlier content again, because the branch may have moved since.
    fn save(&mut self, OfDocument { text_document: id }: &OfDocument) {
        self.read_policy();
        // Not every client says that other files have changed.
        self.look_around();
        if self.against.is_none() || !self.documents.contains_key(&id.uri) {
            return;
        }
        let earlier = self.earlier(&id.uri);
        if let Some(document) = self.documents.get_mut(&id.uri) {
            document.earlier = earlier;
            self.changed.insert(id.uri.clone());
        }
    }

    fn earlier(&mut self, uri: &str) -> Earlier {
        // A file that was never saved, or is outside this repository, has no earlier content.
        let is_there = |path: &PathBuf| path.starts_with(self.policy.root()) && path.is_file();
        let (Some(reference), Some(path)) = (&self.against, path(uri).filter(is_there)) else {
            return Earlier::default();
        };
        let (earlier, failures) = Earlier::at(reference, &path);
        failures.iter().for_each(|failure| self.show(&format!("setguard: {failure}")));
        earlier
    }

    fn close(&mut self, OfDocument { text_document: id }: &OfDocument) {
        self.changed.remove(&id.uri);
        if self.documents.remove(&id.uri).is_some() {
            self.publish(&id.uri, None, &[]);
        }
    }

    fn hover(&mut self, params: &AtPosition) -> Value {
        let encoding = self.encoding;
        let document = self.checked(&params.text_document.uri);
        document.and_then(|it| hover::of(it, params, encoding)).unwrap_or(Value::Null)
    }

    fn complete(&mut self, params: &AtPosition) -> Value {
        let document = self.documents.get(&params.text_document.uri);
        let policy = &self.policy.policy;
        let items = document.map(|it| completion::of(it, params, policy, self.encoding));
        items.unwrap_or_default().into()
    }

    fn actions(&mut self, params: &InRange) -> Value {
        self.checked(&params.text_document.uri);
        let Some(document) = self.documents.get(&params.text_document.uri) else {
            return Value::Null;
        };
        actions::of(document, params, &self.policy.policy, self.encoding).into()
    }

    /// Without a commit to compare with, there is no change.
    fn lenses(&self, OfDocument { text_document: id }: &OfDocument) -> Value {
        let document = self.documents.get(&id.uri).filter(|it| it.kind == Kind::Manifests);
        let lenses = document.map(|it| it.lenses(&self.policy.policy, self.encoding));
        lenses.unwrap_or_default().into()
    }

    fn checked(&mut self, uri: &str) -> Option<&Document> {
        if self.changed.remove(uri) {
            self.check(uri);
        }
        self.documents.get(uri)
    }

    fn check(&mut self, uri: &str) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        if let Some(path) = path(uri) {
            self.policy.assign(&document.name, &path);
        }
        let diagnostics = document.check(uri, &self.policy.policy, self.encoding);
        let version = document.version;
        self.publish(uri, version, &diagnostics);
    }

    /// If the policy has changed, checks all documents again.
    fn read_policy(&mut self) {
        match self.policy.refresh() {
            Reading::Unchanged => return,
            Reading::New => {}
            Reading::Invalid(error) => self.show(&format!("setguard: {error}")),
        }
        self.look_around();
    }

    fn look_around(&mut self) {
        self.folders = None;
        let uris: Vec<String> = self.documents.keys().cloned().collect();
        for uri in uris {
            let is_template = self.documents.get(&uri).is_some_and(|it| it.is_template);
            let (kind, context) = (self.kind(&uri, is_template), self.path_context(&uri));
            if let Some(document) = self.documents.get_mut(&uri) {
                document.kind = kind;
                document.context = context;
                document.findings = None;
            }
            self.changed.insert(uri);
        }
    }

    fn path_context(&mut self, uri: &str) -> Option<PathContext> {
        let root = self.policy.root();
        let path = path(uri).filter(|path| path.starts_with(root))?;
        let exclude = &self.policy.exclude;
        let folders = self.folders.get_or_insert_with(|| listing::context(root, exclude));
        folders.as_ref()?.facts(&path, &self.policy.policy.folder_names)
    }

    fn kind(&self, uri: &str, is_template: bool) -> Kind {
        match path(uri) {
            _ if is_template => Kind::LeftOut,
            Some(path) if self.policy.is_policy(&path) => Kind::Policy,
            Some(path) if self.leaves_out(&path) => Kind::LeftOut,
            _ => Kind::Manifests,
        }
    }

    fn leaves_out(&self, path: &Path) -> bool {
        listing::leaves_out(self.policy.folder(), path, &self.policy.exclude)
    }

    fn name(&self, uri: &str) -> String {
        let Some(path) = path(uri) else { return uri.to_owned() };
        let inside = path.strip_prefix(self.policy.folder());
        inside.unwrap_or(&path).display().to_string()
    }

    fn publish(&mut self, uri: &str, version: Option<i32>, diagnostics: &[Value]) {
        let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
        if let (Some(version), Some(params)) = (version, params.as_object_mut()) {
            params.insert("version".to_owned(), version.into());
        }
        self.notify("textDocument/publishDiagnostics", params);
    }

    fn show(&mut self, message: &str) {
        self.tell(ERROR, message);
    }

    fn tell(&mut self, kind: u8, message: &str) {
        self.notify("window/showMessage", json!({ "type": kind, "message": message }));
    }

    fn notify(&mut self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.out.push(Message::Notification(notification));
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}
