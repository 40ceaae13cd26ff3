// How the language server is started.

"use strict";

const { execFile } = require("node:child_process");

// The command for these settings: an object with the method `get`, as VS Code gives it.
exports.server = (settings) => ({
  command: settings.get("path") || "setguard",
  args: ["lsp", ...(settings.get("arguments") ?? [])],
});

// Rejects with the reason if the program can't be started.
exports.tried = (command) =>
  new Promise((resolve, reject) => {
    execFile(command, ["--version"], { timeout: 10_000 }, (error) => (error ? reject(error) : resolve()));
  });
