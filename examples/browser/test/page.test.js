// The page in a real browser: Chromium, without a window. CHROMIUM names its program; without one the test is skipped.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { after, before, test } from "node:test";

import { ROOT } from "./engine.js";

const require = createRequire(new URL("target/browser/package.json", ROOT));
const { chromium } = require("playwright-core");

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const PROGRAMS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const program = PROGRAMS.find((path) => path && existsSync(path));
const skip = program ? false : "no Chromium; CHROMIUM names its program";

const DAEMON = `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels:
      app: agent
  template:
    metadata:
      labels:
        app: agent
    spec:
      containers:
        - name: agent
          image: registry.example/agent:1
`;

let server, browser, address;

before(async () => {
  if (skip) return;
  server = createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname.replace(/\/$/, "/index.html");
    const file = new URL(`target/page${path}`, ROOT);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file.pathname)] ?? "text/plain" });
    return response.end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}/`;
  browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

// Opens the page, and collects what it requests and what goes wrong in it.
async function open(options = {}, at = address) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const [requests, errors] = [[], []];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(at);
  await page.locator("#summary", { hasText: " set" }).waitFor();
  return { page, context, requests, errors };
}

const editor = (page) => page.getByRole("textbox", { name: "Manifests", exact: true });
const tab = (page, name) => page.getByRole("tab", { name });
const choose = (page, label) => page.getByLabel("Example").selectOption({ label });
const hasAddress = (page) => page.waitForFunction(() => location.hash.length > 20);

// Replaces everything.
async function write(page, text) {
  await editor(page).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

test("it opens with both kinds, before anything happens", { skip }, async () => {
  const { page, errors } = await open();
  await page.locator("#summary", { hasText: "2 sets" }).waitFor();
  await tab(page, "Plan").click();
  for (const [kind, waves] of [["StatefulSet shop/db", 3], ["DaemonSet logging/agent", 3]]) {
    const plan = page.getByRole("region", { name: `Plan of ${kind}` });
    await plan.getByText(`Wave 0 of ${waves}: before the change`).waitFor();
    await plan.getByText("stops if").waitFor();
  }
  await page.getByText("claims created: 1").waitFor();
  // Nobody has written anything that an address could hold.
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.deepEqual(errors, []);
});

test("what one types is one's own, and the link keeps it", { skip }, async () => {
  const { page, errors } = await open();
  const example = page.getByLabel("Example");
  assert.notEqual(await example.inputValue(), "");
  await editor(page).getByText("postgres:17.6").click();
  await page.keyboard.press("End");
  await page.keyboard.type("-mine");
  await hasAddress(page);
  assert.equal(await example.inputValue(), "");
  // The manifests before the change go with it.
  const other = await open({}, address + (await page.evaluate(() => location.hash)));
  await tab(other.page, "Plan").click();
  await other.page.getByText("17.6-mine").last().waitFor();
  await other.page.getByText("registry.example/postgres:17.5").last().waitFor();
  assert.equal(await other.page.getByLabel("Example").inputValue(), "");
  assert.deepEqual([...errors, ...other.errors], []);
});

test("an example leaves nothing behind in other manifests", { skip }, async () => {
  const { page, errors } = await open();
  await write(page, DAEMON);
  await tab(page, "Plan").click();
  await page.getByRole("region", { name: "Plan of DaemonSet default/agent" }).getByText("is new").waitFor();
  assert.equal(await page.getByRole("region", { name: /^Plan of/ }).count(), 1);
  // One's own manifests before the change stay.
  await tab(page, "Before").click();
  await page.getByRole("textbox", { name: "Manifests before the change" }).click();
  await page.keyboard.insertText(DAEMON);
  await tab(page, "Manifests").click();
  await write(page, DAEMON.replace("agent:1", "agent:2"));
  await page.locator("#plan", { hasText: "agent:1 → registry.example/agent:2" }).waitFor();
  assert.deepEqual(errors, []);
});

test("a finding appears while one types, and its fix removes it", { skip }, async () => {
  const { page, errors } = await open();
  await write(page, DAEMON);
  await page.locator("#summary", { hasText: "in 1 set" }).waitFor();
  // In the third line of the spec, before the selector.
  await write(page, DAEMON.replace("  selector:", "  updateStrategy:\n    type: OnDelete\n    rollingUpdate:\n      maxUnavailable: 2\n  selector:"));
  const finding = page.locator("#findings li", { hasText: "on-delete-ignores-rolling-update" });
  await finding.waitFor();
  assert.ok((await page.locator(".cm-lintRange").count()) > 0, "the editor marks the finding");
  await finding.getByRole("button", { name: "Explain" }).click();
  await page.getByRole("heading", { name: "on-delete-ignores-rolling-update" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "explain-tab");
  // By keyboard, back to the findings.
  await page.keyboard.press("Home");
  await finding.getByRole("button", { name: /^Remove / }).click();
  await finding.waitFor({ state: "detached" });
  const text = await editor(page).innerText();
  assert.ok(text.includes("OnDelete") && !text.includes("maxUnavailable"), text);
  assert.deepEqual(errors, []);
});

test("the release decides what is found", { skip }, async () => {
  const { page, errors } = await open();
  const releases = await page.getByLabel("Kubernetes").locator("option").allInnerTexts();
  assert.ok(releases.length >= 5, releases.join());
  await choose(page, "A field with a typo");
  await page.locator("#findings li", { hasText: "replica" }).first().waitFor();
  await page.getByLabel("Kubernetes").selectOption(releases.at(-1));
  await hasAddress(page);
  assert.deepEqual(errors, []);
});

test("a plan is stepped, and a pod that never becomes ready stops it", { skip }, async () => {
  const { page, errors } = await open();
  await tab(page, "Plan").click();
  const plan = page.getByRole("region", { name: "Plan of StatefulSet shop/db" });
  const cell = (pod, column) => plan.getByRole("row", { name: pod }).getByRole("cell").nth(column).innerText();
  assert.deepEqual([await cell("db-3", 0), await cell("db-3", 1), await cell("db-3", 2)], ["–", "created + claim", "new"]);
  assert.deepEqual([await cell("db-2", 1), await cell("db-2", 2), await cell("db-2", 3)], ["old", "replaced", "new"]);
  assert.equal(await cell("db-0", 0), "keeps the old template");
  await plan.getByRole("button", { name: "Next" }).click();
  await plan.getByText("Wave 1 of 3: db-3 created with the claim data-db-3").waitFor();
  assert.equal(await plan.locator("[aria-current=step]").innerText(), "Wave 1");
  await plan.getByRole("button", { name: "Back" }).click();
  assert.ok(await plan.getByRole("button", { name: "Back" }).isDisabled());
  // By keyboard.
  const pod = plan.getByRole("button", { name: "db-2 never becomes ready" });
  await pod.focus();
  await page.keyboard.press("Enter");
  await plan.getByText(/^stops: db-2/).waitFor();
  assert.equal(await cell("db-2", 3), "never ready");
  assert.equal(await pod.getAttribute("aria-pressed"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.startsWith("db-2")), true);
  assert.deepEqual(errors, []);
});

test("nodes decide about the pods of a DaemonSet", { skip }, async () => {
  const { page, errors } = await open();
  await tab(page, "Plan").click();
  const plan = page.getByRole("region", { name: "Plan of DaemonSet logging/agent" });
  await plan.getByText("Wave 0 of 3").waitFor();
  await plan.getByRole("rowheader", { name: "any of 3 nodes" }).waitFor();
  await tab(page, "Nodes").click();
  await page.getByRole("button", { name: "Add a node" }).click();
  await plan.getByText("Wave 0 of 4").waitFor();
  await plan.getByRole("rowheader", { name: "any of 4 nodes" }).waitFor();
  await page.getByRole("button", { name: "Remove the node node-4" }).click();
  await plan.getByText("Wave 0 of 3").waitFor();
  assert.deepEqual(errors, []);
});

test("the address holds the input", { skip }, async () => {
  const { page } = await open();
  await tab(page, "Plan").click();
  await write(page, DAEMON.replace("name: agent", "name: shared-agent"));
  await page.locator("#plan", { hasText: "shared-agent" }).waitFor();
  const before = await page.evaluate(() => location.hash);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.locator("#done", { hasText: /./ }).waitFor();
  const hash = await page.evaluate(() => location.hash);
  assert.ok(hash.startsWith("#1.") && hash.length < 2000, `${before} ${hash}`);
  const other = await open({}, address + hash);
  const text = await editor(other.page).innerText();
  assert.ok(text.includes("shared-agent"), text);
  // An address that someone has broken is an example, not an error.
  const broken = await open({}, `${address}#1.AAAA`);
  assert.deepEqual([...other.errors, ...broken.errors], []);
});

test("the page works offline and requests nothing but its own files", { skip }, async () => {
  const { page, context, requests, errors } = await open();
  const loaded = requests.length;
  assert.ok(loaded >= 4 && requests.every((url) => url.startsWith(address) || url.startsWith("data:")), requests.join());
  await context.setOffline(true);
  await write(page, DAEMON.replace("app: agent", "app: other"));
  await page.locator("#findings li.error").first().waitFor();
  assert.deepEqual(requests.slice(loaded), []);
  assert.deepEqual(errors, []);
});

test("the switch chooses the other theme, and a reload keeps it", { skip }, async () => {
  const { page } = await open({ colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark theme" }).click();
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await page.locator("#summary", { hasText: " set" }).waitFor();
  assert.equal(await background(), dark);
});

test("files are opened, and text that cannot be read has a line", { skip }, async () => {
  const { page, errors } = await open();
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open files" }).click();
  const file = (name, text) => ({ name, mimeType: "text/yaml", buffer: Buffer.from(text) });
  await (await chooser).setFiles([file("a.yaml", DAEMON), file("b.yaml", DAEMON.replace("name: agent", "name: other"))]);
  await page.locator("#summary", { hasText: "2 sets" }).waitFor();
  await write(page, "kind: [\n");
  await page.locator("#summary", { hasText: "not readable" }).waitFor();
  assert.ok((await page.locator(".cm-lintRange, .cm-lintPoint").count()) > 0, "the editor marks the place");
  await write(page, "");
  await page.getByText("Nothing to check yet").waitFor();
  assert.deepEqual(errors, []);
});

// What axe finds serious or critical: names, roles, contrast, keyboard.
async function barriers(page) {
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => window.axe.run());
  const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return grave.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

for (const colorScheme of ["light", "dark"]) {
  for (const [device, viewport] of Object.entries({ desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } })) {
    test(`axe finds nothing serious, and all fits one screen, ${device}, ${colorScheme}`, { skip }, async () => {
      const { page, errors } = await open({ colorScheme, viewport, bypassCSP: true });
      const look = async (name) => {
        assert.deepEqual(await barriers(page), [], name);
        const [width, height] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
        assert.ok(width <= viewport.width && height <= viewport.height, `${name}: ${width} × ${height}`);
        const pictures = process.env.PICTURES;
        if (pictures) await page.screenshot({ path: `${pictures}/${device}-${colorScheme}-${name}.png` });
      };
      await look("findings");
      await page.getByRole("button", { name: "Explain" }).first().click();
      await look("explain");
      await tab(page, "Plan").click();
      await page.getByRole("button", { name: "Next" }).first().click();
      await look("plan");
      await page.getByRole("button", { name: "db-2 never becomes ready" }).click();
      await page.getByText(/^stops: db-2/).waitFor();
      await tab(page, "Nodes").click();
      await look("stop");
      await choose(page, "A selector with a typo");
      await tab(page, "Findings").click();
      await page.locator("#findings li.error").first().waitFor();
      await look("error");
      await write(page, "");
      await page.getByText("Nothing to check yet").waitFor();
      await look("nothing");
      const { top, bottom } = await page.locator("#findings").evaluate((it) => it.getBoundingClientRect().toJSON());
      assert.ok(bottom - top > 200 && bottom <= viewport.height, `the results: ${top} to ${bottom}`);
      assert.deepEqual(errors, []);
    });
  }
}
