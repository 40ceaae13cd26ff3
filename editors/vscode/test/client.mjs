// VS Code's own library of the protocol, as a client of the program.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { after } from "node:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = new URL("../../../", import.meta.url);
export const BUILT = new URL("target/vscode/extension/", ROOT);

const load = createRequire(new URL("package.json", BUILT));
export const protocol = load("vscode-languageserver-protocol/node");
export const { server } = load("./server.js");

const PROGRAM = fileURLToPath(new URL(`target/debug/setguard${process.platform === "win32" ? ".exe" : ""}`, ROOT));

// A failed test does not close its editor, and Node waits for a child that runs.
const children = [];
after(() => children.forEach((child) => child.kill()));

// A folder with files that an editor has opened, and the editor. The server is started with these arguments.
export class Editor {
  #diagnostics = new Map();
  #waiting = new Map();
  #versions = new Map();

  static async open(files, args = []) {
    const editor = new Editor();
    editor.folder = mkdtempSync(join(tmpdir(), "setguard-"));
    for (const [name, text] of Object.entries(files)) {
      const path = join(editor.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const settings = new Map([["path", PROGRAM], ["arguments", args]]);
    const { command, args: all } = server(settings);
    editor.child = spawn(command, all, { cwd: editor.folder, stdio: ["pipe", "pipe", "inherit"] });
    children.push(editor.child);
    editor.exited = new Promise((resolve) => editor.child.on("exit", resolve));
    editor.connection = protocol.createProtocolConnection(editor.child.stdout, editor.child.stdin, undefined);
    editor.connection.onNotification(protocol.PublishDiagnosticsNotification.type, (published) => editor.#published(published));
    editor.connection.listen();
    const uri = pathToFileURL(editor.folder).href;
    editor.server = await editor.connection.sendRequest(protocol.InitializeRequest.type, {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: "folder" }],
      capabilities: {
        textDocument: {
          codeAction: {
            codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix", "source.fixAll"] } },
            dataSupport: true,
            resolveSupport: { properties: ["edit"] },
          },
          hover: { contentFormat: ["markdown", "plaintext"] },
          publishDiagnostics: { relatedInformation: true, versionSupport: true, codeDescriptionSupport: true },
        },
        workspace: { workspaceEdit: { documentChanges: true } },
      },
    });
    await editor.connection.sendNotification(protocol.InitializedNotification.type, {});
    return editor;
  }

  uri(name) {
    return pathToFileURL(join(this.folder, name)).href;
  }

  // Opens a text, and returns the diagnostics.
  async type(name, text) {
    const uri = this.uri(name);
    this.#versions.set(uri, 1);
    const next = this.#next(uri, 1);
    await this.connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
      textDocument: { uri, languageId: "yaml", version: 1, text },
    });
    return next;
  }

  // Changes a text, and returns the diagnostics.
  async change(name, ...contentChanges) {
    const uri = this.uri(name);
    const version = this.#versions.get(uri) + 1;
    this.#versions.set(uri, version);
    const next = this.#next(uri, version);
    await this.connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges,
    });
    return next;
  }

  hover(name, position) {
    const textDocument = { uri: this.uri(name) };
    return this.connection.sendRequest(protocol.HoverRequest.type, { textDocument, position });
  }

  actions(name, diagnostic, only) {
    const textDocument = { uri: this.uri(name) };
    const context = { diagnostics: [diagnostic], only };
    return this.connection.sendRequest(protocol.CodeActionRequest.type, { textDocument, range: diagnostic.range, context });
  }

  // Ends the session as VS Code does, and returns the exit code.
  async close() {
    await this.connection.sendRequest(protocol.ShutdownRequest.type);
    await this.connection.sendNotification(protocol.ExitNotification.type);
    const code = await this.exited;
    this.connection.dispose();
    rmSync(this.folder, { recursive: true });
    return code;
  }

  #next(uri, version) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no diagnostics of version ${version} of ${uri}`)), 30_000);
      this.#waiting.set(uri, { version, done: (found) => (clearTimeout(timer), resolve(found)) });
    });
  }

  #published({ uri, version, diagnostics }) {
    this.#diagnostics.set(uri, diagnostics);
    const waiting = this.#waiting.get(uri);
    if (waiting?.version === version) {
      this.#waiting.delete(uri);
      waiting.done(diagnostics);
    }
  }
}

// The text after the edits of an action.
export function applied(text, edits) {
  const lines = text.split("\n");
  const starts = lines.reduce((all, line) => [...all, all.at(-1) + line.length + 1], [0]);
  const at = ({ line, character }) => starts[line] + character;
  const later = [...edits].sort((a, b) => at(b.range.start) - at(a.range.start));
  return later.reduce((now, { range, newText }) => now.slice(0, at(range.start)) + newText + now.slice(at(range.end)), text);
}
