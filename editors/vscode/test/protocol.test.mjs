// `setguard lsp` with the protocol library of VS Code as its client.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { AGENT, RULE } from "../../agent.mjs";
import { applied, Editor } from "./client.mjs";

const codes = (diagnostics) => diagnostics.map(({ code }) => code);

test("a finding has a place, a severity and a link to the page of its rule", async () => {
  const editor = await Editor.open({});
  assert.equal(editor.server.serverInfo.name, "setguard");
  const [found, ...others] = await editor.type("a.yaml", AGENT);
  assert.deepEqual(others, []);
  assert.equal(found.code, RULE);
  assert.equal(found.source, "setguard");
  assert.equal(found.severity, 2);
  assert.deepEqual(found.range.start, { line: 6, character: 4 });
  assert.equal(found.codeDescription.href, `https://setguard.io/rules/${RULE}.html`);
  assert.equal(await editor.close(), 0);
});

test("findings follow the changes of a text", async () => {
  const editor = await Editor.open({});
  assert.deepEqual(codes(await editor.type("a.yaml", AGENT)), [RULE]);
  const word = { start: { line: 5, character: 10 }, end: { line: 5, character: 18 } };
  assert.deepEqual(await editor.change("a.yaml", { range: word, text: "RollingUpdate" }), []);
  // Two changes in one message: each is about the text after the previous one.
  const back = { start: word.start, end: { line: 5, character: 23 } };
  const line = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const found = await editor.change("a.yaml", { range: back, text: "OnDelete" }, { range: line, text: "# 🦀\n" });
  assert.deepEqual(codes(found), [RULE]);
  assert.deepEqual(found[0].range.start, { line: 7, character: 4 });
  assert.deepEqual(await editor.change("a.yaml", { text: "" }), []);
  assert.equal(await editor.close(), 0);
});

test("a hover on a finding explains the rule", async () => {
  const editor = await Editor.open({});
  const [found] = await editor.type("a.yaml", AGENT);
  const { contents } = await editor.hover("a.yaml", found.range.start);
  assert.equal(contents.kind, "markdown");
  assert.ok(contents.value.startsWith(`### [${RULE}](https://setguard.io/`), contents.value);
  assert.ok(contents.value.includes("#### Good\n\n```yaml\n"), contents.value);
  assert.equal(await editor.hover("a.yaml", { line: 0, character: 0 }), null);
  assert.equal(await editor.close(), 0);
});

test("quick fixes remove a finding or exempt it", async () => {
  const editor = await Editor.open({});
  const [found] = await editor.type("a.yaml", AGENT);
  const actions = await editor.actions("a.yaml", found);
  assert.deepEqual(
    actions.map(({ title, kind }) => [title, kind]),
    [
      ["Remove spec.updateStrategy.rollingUpdate", "quickfix"],
      [`Exempt from ${RULE} by a comment`, "quickfix"],
      ["Fix all that setguard can fix", "source.fixAll.setguard"],
    ],
  );
  const text = ({ edit }) => {
    const [change, ...others] = edit.documentChanges ?? [{ textDocument: {}, edits: edit.changes[editor.uri("a.yaml")] }];
    assert.deepEqual(others, []);
    return applied(AGENT, change.edits);
  };
  for (const action of actions) {
    const now = await editor.change("a.yaml", { text: text(action) });
    // An exempted finding is a hint.
    assert.deepEqual(now.map(({ severity }) => severity), action.title.startsWith("Exempt") ? [4] : [], action.title);
    await editor.change("a.yaml", { text: AGENT });
  }
  const onSave = await editor.actions("a.yaml", found, ["source.fixAll"]);
  assert.deepEqual(onSave.map(({ kind }) => kind), ["source.fixAll.setguard"]);
  assert.equal(await editor.close(), 0);
});

test("the policy of the folder and the arguments of the settings count", async () => {
  const policy = `apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n  ${RULE}: deny\n`;
  const files = { ".git/HEAD": "", "setguard.yaml": policy };
  const editor = await Editor.open(files);
  const [found] = await editor.type("a.yaml", AGENT);
  assert.equal(found.severity, 1);
  assert.equal(await editor.close(), 0);
  const other = await Editor.open(files, ["--no-config"]);
  const [warning] = await other.type("a.yaml", AGENT);
  assert.equal(warning.severity, 2);
  assert.equal(await other.close(), 0);
});

test("with --against-ref, a change of an immutable field is found", { skip: !hasGit() && "no git" }, async () => {
  const editor = await Editor.open({ "a.yaml": AGENT }, ["--against-ref", "HEAD"]);
  const git = (...args) => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    const { status, stderr } = spawnSync("git", [...identity, ...args], { cwd: editor.folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
  };
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message", "a");
  assert.deepEqual(codes(await editor.type("a.yaml", AGENT)), [RULE]);
  const found = await editor.change("a.yaml", { text: AGENT.replaceAll("{app: agent}", "{app: other}") });
  const titles = found.map(({ message }) => message.split("\n")[0]);
  assert.ok(titles.includes("`selector` cannot be changed"), titles.join());
  assert.equal(await editor.close(), 0);
});

function hasGit() {
  return spawnSync("git", ["--version"]).status === 0;
}
