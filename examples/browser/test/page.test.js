// The page in a real browser: Chromium, without a window. CHROMIUM names its program; without one the test is skipped.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { after, before, test } from "node:test";

import { ROOT } from "./engine.js";

const { chromium } = createRequire(new URL("target/browser/package.json", ROOT))("playwright-core");

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
  await page.locator("#summary", { hasText: "checked" }).waitFor();
  return { page, context, requests, errors };
}

const editor = (page) => page.getByRole("textbox", { name: "Manifests" });

async function write(page, text) {
  await editor(page).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

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
  await page.getByLabel("Example").selectOption({ label: "A field with a typo" });
  await page.locator("#findings li", { hasText: "replica" }).first().waitFor();
  await page.getByLabel("Kubernetes").selectOption(releases.at(-1));
  await page.waitForFunction(() => location.hash.length > 20);
  assert.deepEqual(errors, []);
});

test("a plan is stepped, and a pod that never becomes ready stops it", { skip }, async () => {
  const { page, errors } = await open();
  await page.getByLabel("Example").selectOption({ label: "A database, updated pod by pod" });
  const plan = page.getByRole("region", { name: "Plan of StatefulSet shop/db" });
  await plan.getByText("Wave 5 of 5: db-0 replaced").waitFor();
  for (let wave = 5; wave > 1; wave -= 1) await plan.getByRole("button", { name: "Back" }).click();
  await plan.getByText("Wave 1 of 5: db-4 replaced").waitFor();
  const now = (pod) => plan.getByRole("row", { name: pod }).getByRole("cell").first().innerText();
  assert.deepEqual([await now("db-4"), await now("db-3")], ["new", "old"]);
  // By keyboard.
  const pod = plan.getByRole("button", { name: "db-3 never becomes ready" });
  await pod.focus();
  await page.keyboard.press("Enter");
  await plan.getByText(/^stops at db-3/).waitFor();
  assert.equal(await pod.getAttribute("aria-pressed"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.startsWith("db-3")), true);
  assert.deepEqual(errors, []);
});

test("nodes decide about the pods of a DaemonSet", { skip }, async () => {
  const { page, errors } = await open();
  await page.getByLabel("Example").selectOption({ label: "A node daemon on three nodes" });
  const plan = page.getByRole("region", { name: "Plan of DaemonSet shop/agent" });
  await plan.getByText("Wave 3 of 3").waitFor();
  await plan.getByRole("rowheader", { name: "node-a, node-b, node-c" }).first().waitFor();
  await page.getByRole("button", { name: "Add a node" }).click();
  await plan.getByText("Wave 4 of 4").waitFor();
  await plan.getByRole("rowheader", { name: "node-4" }).first().waitFor();
  await page.getByRole("button", { name: "Remove the node node-4" }).click();
  await plan.getByText("Wave 3 of 3").waitFor();
  assert.deepEqual(errors, []);
});

test("the address holds the input", { skip }, async () => {
  const { page } = await open();
  await write(page, DAEMON.replace("name: agent", "name: shared-agent"));
  await page.locator("#findings, #summary", { hasText: "checked" }).first().waitFor();
  await page.waitForFunction(() => document.querySelector("#plan").textContent.includes("shared-agent"));
  const before = await page.evaluate(() => location.hash);
  await page.getByRole("button", { name: "Copy the address" }).click();
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

// Returns the names of the elements that a screen reader would not announce.
function nameless() {
  const all = document.querySelectorAll("button, input, select, a, [role=textbox], table");
  return [...all].filter((it) => {
    const by = it.getAttribute("aria-labelledby");
    const labels = [it.ariaLabel, it.textContent, it.labels?.[0]?.textContent, by && document.getElementById(by)?.textContent];
    return !labels.some((label) => label?.trim());
  }).map((it) => it.outerHTML.slice(0, 120));
}

// Returns the texts whose contrast with their background is lower than 4.5 to 1.
function faint() {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (color) => {
    const [r, g, b] = Array.from(rgba(color)).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (it) => {
    for (; it; it = it.parentElement) {
      const color = getComputedStyle(it).backgroundColor;
      if (rgba(color)[3] === 255) return color;
    }
    return "white";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const it = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !it.checkVisibility() || it.closest(":disabled, noscript, option")) continue;
    const [a, b] = [luminance(getComputedStyle(it).color), luminance(background(it))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(1)}: ${walker.currentNode.data.slice(0, 40)} (${it.className})`);
  }
  return found;
}

for (const colorScheme of ["light", "dark"]) {
  test(`everything has a name and contrast, ${colorScheme}, also on a phone`, { skip }, async () => {
    for (const viewport of [{ width: 1280, height: 900 }, { width: 360, height: 740 }]) {
      const { page, errors } = await open({ colorScheme, viewport });
      await page.getByRole("button", { name: "Explain" }).first().click();
      await page.getByLabel("Example").selectOption({ label: "A node daemon on three nodes" });
      await page.getByRole("rowheader", { name: "node-c" }).first().waitFor();
      await page.getByLabel("Example").selectOption({ label: "A database, updated pod by pod" });
      await page.getByRole("button", { name: "db-3 never becomes ready" }).click();
      await page.getByText(/^stops at db-3/).waitFor();
      assert.deepEqual(await page.evaluate(nameless), []);
      assert.deepEqual(await page.evaluate(faint), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= viewport.width, `${width} is wider than ${viewport.width}`);
      assert.deepEqual(errors, []);
      const pictures = process.env.PICTURES;
      if (pictures) await page.screenshot({ path: `${pictures}/${colorScheme}-${viewport.width}.png`, fullPage: true });
    }
  });
}
