// The built site in a real browser, at the width of a phone and of a desktop. Skipped without target/site (.ci/site builds it) or
// Chromium; CHROMIUM names its program.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { after, before, test } from "node:test";

const ROOT = new URL("../../../", import.meta.url);
const SITE = new URL("target/site/", ROOT);
const TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
};
const WIDTHS = { phone: 390, desktop: 1280 };
const PROGRAMS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const program = PROGRAMS.find((path) => path && existsSync(path));
const modules = new URL("target/browser/node_modules/playwright-core", ROOT);
const missing = [
    [existsSync(SITE), "no target/site; .ci/site builds it"],
    [program, "no Chromium; CHROMIUM names its program"],
    [existsSync(modules), "no packages; .ci/page fetch fetches them"],
];
const skip = missing.find(([is]) => !is)?.[1] ?? false;

let server, browser, address;

before(async () => {
    if (skip) return;
    const { chromium } = createRequire(new URL("target/browser/package.json", ROOT))("playwright-core");
    server = createServer((request, response) => {
        const path = decodeURIComponent(new URL(request.url, "http://site").pathname).replace(/\/$/, "/index.html");
        const file = new URL(`.${path}`, SITE);
        if (!file.href.startsWith(SITE.href) || !existsSync(file) || statSync(file).isDirectory()) {
            return response.writeHead(404).end();
        }
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

// The pages with contents. `print.html` is all of them in one, and toc.html is a part of each.
function pages() {
    const all = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith(".html"));
    return all.filter((name) => !/(^|\/)(print|toc|404)\.html$/.test(name) && !name.startsWith("try/")).sort();
}

for (const [device, width] of Object.entries(WIDTHS)) {
    test(`each page fits a ${device}, and loads nothing from elsewhere`, { skip, timeout: 300_000 }, async () => {
        const names = pages();
        assert.ok(names.length > 100, `${names.length} pages`);
        const context = await browser.newContext({ viewport: { width, height: 800 } });
        const page = await context.newPage();
        const problems = [];
        let current;
        page.on("pageerror", (error) => problems.push(`${current}: ${error}`));
        page.on("request", (request) => {
            if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(address)) {
                problems.push(`${current}: asks ${request.url()}`);
            }
        });
        page.on("response", (response) => {
            if (response.status() >= 400) problems.push(`${current}: ${response.status()} ${response.url()}`);
        });
        for (const name of names) {
            current = name;
            await page.goto(address + name, { waitUntil: "load" });
            const seen = await page.evaluate(() => ({
                wide: document.documentElement.scrollWidth - window.innerWidth,
                title: document.querySelector("main h1")?.textContent.trim() ?? "",
            }));
            if (seen.wide > 0) problems.push(`${name}: ${seen.wide} pixels too wide`);
            if (!seen.title) problems.push(`${name}: no heading`);
        }
        await context.close();
        assert.deepEqual(problems, []);
    });
}

test("a reader finds a rule by the sidebar and by the search", { skip, timeout: 60_000 }, async () => {
    const page = await browser.newPage({ viewport: { width: WIDTHS.desktop, height: 800 } });
    await page.goto(address);
    await page.locator('#mdbook-sidebar a[href$="rules.html"], #sidebar a[href$="rules.html"]').first().click();
    await page.waitForURL(/rules\.html/);
    await page.goto(`${address}index.html?search=partition-covers-all`);
    const hit = page.locator("#mdbook-searchresults a, #searchresults a").first();
    await hit.waitFor();
    assert.match(await hit.getAttribute("href"), /partition-covers-all/);
    await page.close();
});
