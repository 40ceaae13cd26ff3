// The page reports what the command line reports, on all fixtures.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { ROOT, engine } from "./engine.js";

const root = fileURLToPath(ROOT);
const program = process.env.SETGUARD ?? "target/debug/setguard";

function setguard(args) {
    const { stdout, status } = spawnSync(program, args, { cwd: root, maxBuffer: 1 << 28 });
    assert.notEqual(status, null, args.join(" "));
    return JSON.parse(stdout);
}

function files(...folders) {
    const all = folders.flatMap((folder) =>
        readdirSync(root + folder, { recursive: true }).map((name) => `${folder}/${name}`),
    );
    return all.filter((file) => /\.(ya?ml|json)$/.test(file)).sort();
}

// The text of a file. Undefined if it isn't UTF-8, which a page never has.
function text(file) {
    try {
        return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(root + file));
    } catch {
        return undefined;
    }
}

// A fixture `deny.CASE.yaml` may have the object before an update in `deny.CASE.old.yaml`.
function before(file) {
    const old = file.replace(/\.yaml$/, ".old.yaml");
    return old !== file && existsSync(root + old) ? old : undefined;
}

const manifests = files("tests/fixtures", "examples/manifests", "crates/core/src/rules");

test("check reports what the command line reports", () => {
    let [count, findings, updates] = [0, 0, 0];
    for (const file of manifests) {
        const [manifest, old] = [text(file), before(file)];
        if (manifest === undefined) continue;
        const against = old ? ["--against", old] : [];
        const args = ["check", file, "--format", "json", "--no-config", ...against];
        const expected = setguard(args);
        const inputs = JSON.stringify({ file, before: old ? text(old) : "" });
        const { report } = JSON.parse(engine.check(manifest, inputs));
        assert.deepEqual(report, expected, file);
        count += 1;
        findings += report.findings.length;
        updates += against.length / 2;
    }
    console.log(`${count} files, ${updates} of them as updates: ${findings} findings`);
    assert.ok(count > 500 && findings > 200 && updates > 10);
});

test("releases differ as on the command line", () => {
    const releases = engine.releases();
    assert.ok(releases.length >= 5 && releases[0] > releases.at(-1), releases.join());
    const file = "examples/manifests/good-database.yaml";
    for (const release of releases) {
        const args = ["check", file, "--format", "json", "--no-config", "--kube-version", release];
        const { report } = JSON.parse(engine.check(text(file), JSON.stringify({ file, release })));
        assert.deepEqual(report, setguard(args), release);
    }
    assert.throws(() => engine.check("", JSON.stringify({ release: "1.2" })), /not supported/);
});

test("fix changes a text as --fix does", () => {
    let changed = 0;
    for (const [i, file] of files("crates/core/src/rules").filter((file) => file.includes("/cases/")).entries()) {
        const manifest = text(file);
        const fixed = engine.fix(manifest, "{}");
        // Of the many files without a fix, a sample.
        if (fixed === manifest && i % 10 > 0) continue;
        const args = ["check", file, "--fix", "--dry-run", "--no-config"];
        const { stdout } = spawnSync(program, args, { cwd: root });
        const lines = stdout.toString().split("\n");
        const added = lines.filter((line) => /^\+(?!\+\+ )/.test(line)).map((line) => line.slice(1));
        assert.equal(fixed !== manifest, stdout.length > 0, file);
        assert.ok(added.every((line) => fixed.includes(line)), file);
        changed += Number(fixed !== manifest);
    }
    assert.ok(changed > 5, String(changed));
});

test("a single fix removes its finding", () => {
    let tried = 0;
    for (const file of files("crates/core/src/rules").filter((file) => file.includes("/cases/"))) {
        const manifest = text(file);
        const { report, fixes } = JSON.parse(engine.check(manifest, "{}"));
        for (const { finding, edits } of fixes) {
            let fixed = manifest;
            for (const { from, to, insert } of edits.sort((a, b) => b.from - a.from)) {
                fixed = fixed.slice(0, from) + insert + fixed.slice(to);
            }
            const after = JSON.parse(engine.check(fixed, "{}")).report;
            const rule = report.findings[finding].rule;
            const count = (all) => all.findings.filter((it) => it.rule === rule).length;
            assert.ok(count(after) < count(report), `${file}: ${rule}`);
            tried += 1;
        }
    }
    assert.ok(tried > 10, String(tried));
});

test("plan is the plan of the command line", () => {
    let steps = 0;
    for (const file of manifests) {
        const old = before(file);
        if (!old) continue;
        const expected = setguard(["plan", file, "--against", old, "--format", "json"]);
        const { plan } = JSON.parse(engine.plan(text(file), JSON.stringify({ before: text(old) })));
        assert.deepEqual(plan, expected, file);
        steps += plan.objects.reduce((sum, object) => sum + object.steps.length, 0);
    }
    assert.ok(steps > 10, String(steps));
    const [after, against] = ["examples/plan/after/db.yaml", "examples/plan/before/db.yaml"];
    const broken = ["--never-ready", "db-4"];
    const expected = setguard(["plan", after, "--against", against, "--format", "json", ...broken]);
    const inputs = { before: text(against), neverReady: ["db-4"] };
    const { plan } = JSON.parse(engine.plan(text(after), JSON.stringify(inputs)));
    assert.deepEqual(plan, expected);
    assert.equal(plan.objects[0].summary.stopsAt, "db-4");
});

test("every rule is explained", () => {
    const rules = setguard(["rules", "--format", "json"]);
    for (const rule of rules) {
        const { why, bad, good, ...rest } = JSON.parse(engine.explain(rule.id));
        assert.deepEqual(rest, rule);
        // The page asks for the texts.
        assert.deepEqual([why, bad, good], ["", "", ""]);
        const files = ["why.md", "bad.yaml", "good.yaml"].map((it) => text(`target/page/rules/${rule.id}/${it}`));
        assert.ok(files[0].length > 20, rule.id);
    }
    assert.equal(engine.explain("no-such-rule"), undefined);
});

test("what cannot be read is reported", () => {
    const { report, failures } = JSON.parse(engine.check("", JSON.stringify({ before: "a: [" })));
    assert.equal(report.findings.length, 0);
    assert.match(failures.join(), /^before:1/);
    const planned = JSON.parse(engine.plan("a: [", "{}"));
    assert.match(planned.failures.join(), /^manifest\.yaml:1/);
    assert.throws(() => engine.check("", "{\"unknown\": 1}"), /unknown field/);
});
