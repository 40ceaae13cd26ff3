// The contents of the package, and of its manifest.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { BUILT, ROOT, server } from "./client.mjs";

const manifest = JSON.parse(readFileSync(new URL("package.json", BUILT), "utf8"));

test("the package has the program's version and only what runs", () => {
  const [, version] = /^version = "(\d+\.\d+\.\d+)/m.exec(readFileSync(new URL("Cargo.toml", ROOT), "utf8"));
  const archive = fileURLToPath(new URL(`target/vscode/setguard-${version}.vsix`, ROOT));
  const unzip = (...args) => {
    const { status, stdout, stderr } = spawnSync("unzip", args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.equal(JSON.parse(unzip("-p", archive, "extension/package.json")).version, version);
  const files = unzip("-Z1", archive).trim().split("\n").filter((name) => name.startsWith("extension/"));
  const names = ["LICENSE.txt", "dist/extension.js", "dist/licences.txt", "icon.png", "package.json", "policy.schema.json", "readme.md"];
  assert.deepEqual(files.map((name) => name.slice("extension/".length)).sort(), names);
});

test("the settings choose the program and its arguments", () => {
  const { path, arguments: args } = Object.fromEntries(
    Object.entries(manifest.contributes.configuration.properties).map(([name, { default: value }]) => [name.slice("setguard.".length), value]),
  );
  assert.deepEqual(server(new Map([["path", path], ["arguments", args]])), { command: "setguard", args: ["lsp"] });
  const own = new Map([["path", "/opt/setguard"], ["arguments", ["--against-ref", "origin/main"]]]);
  assert.deepEqual(server(own), { command: "/opt/setguard", args: ["lsp", "--against-ref", "origin/main"] });
});

// Loads the bundle as VS Code does, with a module `vscode` that only notes what it is asked for, and lets the extension start.
function activated(path) {
  const script = `
    const Module = require("node:module");
    const status = {};
    const noted = { commands: [], errors: [], status };
    const inert = new Proxy(function () {}, {
      get: (target, name) => (name === Symbol.toPrimitive ? () => "" : name === "then" ? undefined : inert),
      apply: () => inert, construct: () => inert, has: () => true,
    });
    const known = {
      commands: { registerCommand: (name) => (noted.commands.push(name), inert) },
      languages: { createLanguageStatusItem: () => status },
      LanguageStatusSeverity: { Information: 0, Warning: 1, Error: 2 },
      window: { showErrorMessage: (...message) => (noted.errors.push(message), Promise.resolve()) },
      workspace: { getConfiguration: () => new Map([["path", process.argv[2]], ["arguments", []]]) },
    };
    const within = (own) => new Proxy(own, { get: (target, name) => target[name] ?? inert });
    for (const name in known) known[name] = within(known[name]);
    const vscode = within({ version: "1.91.0", ...known });
    const load = Module._load;
    Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
    const { activate } = require(process.argv[1]);
    activate({ subscriptions: [] }).then(() => process.stdout.write(JSON.stringify(noted), () => process.exit()));
  `;
  const bundle = fileURLToPath(new URL("dist/extension.js", BUILT));
  const ran = spawnSync(process.execPath, ["-e", script, bundle, path], { encoding: "utf8", timeout: 30_000 });
  assert.equal(ran.status, 0, ran.stderr);
  return JSON.parse(ran.stdout);
}

test("the extension has a command to start the program again, and says how to install one that is missing", () => {
  const { commands, errors, status } = activated("/nowhere/setguard");
  assert.deepEqual(commands, manifest.contributes.commands.map(({ command }) => command));
  const message = "setguard doesn't start: spawn /nowhere/setguard ENOENT";
  assert.deepEqual(errors, [[message, "How to Install", "Open Settings"]]);
  const { text, detail, severity, busy } = status;
  assert.deepEqual({ text, detail, severity, busy }, { text: "setguard doesn't start", detail: message.split(": ").at(-1), severity: 2, busy: false });
});
