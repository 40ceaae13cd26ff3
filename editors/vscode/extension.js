// Starts `setguard lsp` for manifests, and starts it again when its settings change.

"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const { server, tried } = require("./server.js");

const LANGUAGES = ["yaml", "json"];
const INSTALL = "https://setguard.io/install.html";

let client;
// In the status bar, for manifests: which program runs, or why none does.
let status;
// Starts and stops follow one another, however fast the settings change.
let turn = Promise.resolve();

function show(text, detail, severity = vscode.LanguageStatusSeverity.Information) {
  Object.assign(status, { text, detail, severity, busy: false });
}

async function start() {
  status.busy = true;
  const options = server(vscode.workspace.getConfiguration("setguard"));
  try {
    // The message of the client about a missing program doesn't say how to install it.
    await tried(options.command);
  } catch (error) {
    const buttons = {
      "How to Install": () => vscode.env.openExternal(vscode.Uri.parse(INSTALL)),
      "Open Settings": () => vscode.commands.executeCommand("workbench.action.openSettings", "setguard."),
    };
    show("setguard doesn't start", error.message, vscode.LanguageStatusSeverity.Error);
    // Without waiting: a restart must not hang until the message is closed.
    vscode.window
      .showErrorMessage(`setguard doesn't start: ${error.message}`, ...Object.keys(buttons))
      .then((button) => buttons[button]?.());
    return;
  }
  client = new LanguageClient("setguard", "setguard", options, {
    documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
  });
  // The client shows why, if that fails.
  const failed = await client.start().then(() => undefined, (error) => error);
  const version = client.initializeResult?.serverInfo?.version;
  if (failed) show("setguard doesn't start", failed.message, vscode.LanguageStatusSeverity.Error);
  else show(`setguard ${version}`, options.command);
}

async function stop() {
  const running = client;
  client = undefined;
  // A client that didn't start can't be stopped.
  if (running?.isRunning()) await running.stop();
  await running?.dispose().catch(() => {});
}

function restart() {
  turn = turn.then(stop).then(start);
  return turn;
}

exports.activate = (context) => {
  status = vscode.languages.createLanguageStatusItem("setguard", LANGUAGES);
  status.name = "setguard";
  status.command = { command: "setguard.restart", title: "Restart" };
  context.subscriptions.push(
    status,
    vscode.commands.registerCommand("setguard.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["setguard.path", "setguard.arguments"].some((name) => change.affectsConfiguration(name))) restart();
    }),
  );
  return restart();
};

exports.deactivate = () => {
  turn = turn.then(stop);
  return turn;
};
