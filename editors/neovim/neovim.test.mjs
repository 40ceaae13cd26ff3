// The recipe of docs/editors.md for Neovim, in Neovim itself. NVIM names its program; without one the test is skipped.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { AGENT, RULE } from "../agent.mjs";

const ROOT = new URL("../../", import.meta.url);
const nvim = process.env.NVIM || "nvim";
const [, minor] = /^NVIM v0\.(\d+)/m.exec(spawnSync(nvim, ["--version"], { encoding: "utf8" }).stdout ?? "") ?? [];

// The Lua of the page: first for 0.11, then for older releases from 0.7 on.
function recipe() {
  const page = readFileSync(new URL("docs/editors.md", ROOT), "utf8");
  const [current, older] = [...page.split("\n## Neovim\n")[1].matchAll(/```lua\n(.*?)```/gs)].map(([, block]) => block);
  return minor >= 11 ? current : older;
}

test(`a session in Neovim 0.${minor}`, { skip: !minor && "no Neovim; NVIM names its program" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "setguard-"));
  try {
    mkdirSync(join(folder, ".git"));
    writeFileSync(join(folder, "a.yaml"), AGENT);
    writeFileSync(join(folder, "init.lua"), recipe());
    const home = Object.fromEntries(["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"].map((name) => [name, folder]));
    const path = [fileURLToPath(new URL("target/debug", ROOT)), process.env.PATH].join(delimiter);
    const seen = join(folder, "seen.json");
    const session = fileURLToPath(new URL("session.lua", import.meta.url));
    const ran = spawnSync(nvim, ["--headless", "-u", "init.lua", "-c", `luafile ${session}`], {
      cwd: folder,
      env: { ...process.env, ...home, PATH: path, SETGUARD_SEEN: seen },
      encoding: "utf8",
      timeout: 120_000,
    });
    assert.equal(ran.status, 0, ran.stderr);
    const { problem, version, hover, fixed, ...rest } = JSON.parse(readFileSync(seen, "utf8"));
    assert.equal(problem, undefined);
    assert.equal(version, `0.${minor}`);
    assert.ok(hover.startsWith(`### [${RULE}](https://setguard.io/`), hover);
    assert.equal(fixed, AGENT.replace("    rollingUpdate:\n      maxUnavailable: 2\n", ""));
    const { encoding, ...finding } = rest;
    assert.ok(["utf-8", "utf-16"].includes(encoding), encoding);
    const actions = ["Fix all that setguard can fix"];
    assert.deepEqual(finding, { client: "setguard", source: "setguard", severity: 2, line: 6, column: 4, actions });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
