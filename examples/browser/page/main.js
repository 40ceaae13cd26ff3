// The page "Try it": checks manifests while they are written, and plans their change.

import { editorIn } from "./editor.js";
import { engine } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { showExplanation, showFindings, summaryOf } from "./findings.js";
import { manifestsOf, nodeTable } from "./nodes.js";
import { planView } from "./plan.js";
import { decode, encode } from "./share.js";
import { tabsOf, themeSwitch } from "./tabs.js";

const byId = (id) => document.getElementById(id);
const [release, examples, files] = [byId("release"), byId("example"), byId("files")];
const EMPTY = { manifests: "", before: "", release: "", nodes: [], neverReady: [] };

let state = structuredClone(EMPTY);
let fixes = [];
let checked = "";
let explained;
// The address of a visitor who has not changed anything stays short.
let isUntouched = true;

themeSwitch(byId("theme"));
const chooseInput = tabsOf(document.querySelector(".pane [role=tablist]"), (id) => (byId("open").hidden = id === "nodes"));
const chooseResult = tabsOf(document.querySelector("#results [role=tablist]"), (id) => {
  byId("fix-all").hidden = id !== "findings";
  void showExplained();
  drawPlan();
});

const manifests = editorIn(byId("manifests"), "Manifests", (text, isReplaced) => {
  state.manifests = text;
  if (isReplaced) dropExample();
  changed();
});
const before = editorIn(byId("before"), "Manifests before the change", (text) => {
  state.before = text;
  changed();
});
const nodes = nodeTable(byId("nodes").querySelector("table"), byId("add-node"), (all) => {
  state.nodes = all;
  changed();
});
const plan = planView(
  byId("plan"),
  (pod) => {
    const { neverReady } = state;
    state.neverReady = neverReady.includes(pod) ? neverReady.filter((it) => it !== pod) : [...neverReady, pod];
    changed();
  },
  () => {
    chooseInput("nodes");
    byId("add-node").click();
  },
);

// What an example was before does not belong to the manifests that replace it.
function dropExample() {
  const is = (key) => Object.values(EXAMPLES).some((it) => it[key] && JSON.stringify(it[key]) === JSON.stringify(state[key]));
  for (const key of ["before", "nodes"]) if (is(key)) state[key] = EMPTY[key];
  state.neverReady = [];
  before.load(state.before);
  nodes.show(state.nodes);
  plan.forget();
}

function problem(error) {
  const text = String(error?.message ?? error);
  byId("problem").hidden = false;
  // Only a fault of setguard ends the engine.
  byId("problem").textContent =
    error instanceof WebAssembly.RuntimeError ? `setguard failed on this text; reload the page and report it (${text})` : text;
}

// Returns what a visitor can do about a finding.
function actionsFor(finding) {
  const own = fixes.filter((fix) => fix.of === finding);
  return [
    ...own.map(({ title, isSafe, edits }) => ({
      name: isSafe ? title : `${title} (this changes the rollout)`,
      kind: "fix",
      run() {
        if (manifests.text() === checked) manifests.edit(edits);
      },
    })),
    {
      name: "Explain",
      run() {
        explain(finding.rule);
        chooseResult("explain");
        byId("explain-tab").focus();
      },
    },
  ];
}

let rules = [];
function explain(id) {
  explained = id;
  void showExplained();
}

// Asks for the texts only when someone reads them.
async function showExplained() {
  const panel = byId("explain");
  if (panel.hidden) return;
  const id = explained;
  const rule = id ? await engine.explain(id) : null;
  if (explained === id) showExplanation(panel, rule, rules, explain);
}

function inputs() {
  const { neverReady } = state;
  return { release: state.release, before: state.before, cluster: manifestsOf(state.nodes), neverReady };
}

function evaluate() {
  byId("problem").hidden = true;
  try {
    const { report, fixes: found, failures } = engine.check(state.manifests, inputs());
    const { findings } = report;
    checked = state.manifests;
    fixes = found.map((fix) => ({ ...fix, of: findings[fix.finding] }));
    byId("fix-all").disabled = !fixes.some(({ isSafe }) => isSafe);
    byId("summary").textContent = summaryOf(report, failures);
    byId("count").hidden = findings.length === 0;
    byId("count").textContent = findings.length;
    byId("count").className = ["error", "warning", "note"].find((it) => findings.some(({ severity }) => severity === it)) ?? "";
    manifests.mark(findings, actionsFor);
    showFindings(byId("findings"), report, actionsFor, goTo);
    rules = [...new Set(findings.map(({ rule }) => rule))];
    explain(explained ?? rules[0]);
    drawPlan();
  } catch (error) {
    problem(error);
  }
}

// Only while somebody looks: the drawing of a large plan takes a while.
function drawPlan() {
  if (byId("plan").hidden) return;
  try {
    const planned = engine.plan(state.manifests, inputs());
    plan.show(planned.plan, planned.words, state.neverReady, planned.failures);
  } catch (error) {
    problem(error);
  }
}

function goTo(place) {
  chooseInput("manifests");
  manifests.go(place);
}

// What a visitor changes is the visitor's own.
function changed() {
  isUntouched = false;
  examples.value = "";
  update();
}

let waiting;
function update() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    evaluate();
    byId("done").textContent = "";
    if (!isUntouched) remember();
  }, 20);
}

let own = "";
async function remember() {
  const fragment = await encode(state);
  byId("share").disabled = fragment === undefined;
  if (fragment === undefined) byId("done").textContent = "This is too long for a link.";
  own = `#${fragment ?? ""}`;
  history.replaceState(null, "", own);
}

function load(given) {
  state = { ...structuredClone(EMPTY), ...given };
  if (![...release.options].some(({ value }) => value === state.release)) state.release = release.options[0].value;
  release.value = state.release;
  explained = undefined;
  plan.forget();
  manifests.load(state.manifests);
  before.load(state.before);
  nodes.show(state.nodes);
  update();
}

async function followAddress() {
  const given = await decode(location.hash);
  isUntouched = given === undefined;
  const [first] = Object.keys(EXAMPLES);
  examples.value = isUntouched ? first : "";
  load(given ?? structuredClone(EXAMPLES[first]));
}

async function start() {
  await engine.loaded;
  release.replaceChildren(...engine.releases().map((it) => new Option(it)));
  release.addEventListener("change", () => {
    state.release = release.value;
    isUntouched = false;
    update();
  });
  examples.append(...Object.keys(EXAMPLES).map((name) => new Option(name)));
  examples.addEventListener("change", () => {
    isUntouched = false;
    load(examples.value ? { ...structuredClone(EXAMPLES[examples.value]), release: state.release } : { release: state.release });
    chooseInput("manifests");
  });
  byId("open").addEventListener("click", () => files.click());
  files.addEventListener("change", async () => {
    await (byId("before").hidden ? manifests : before).read(files.files);
    files.value = "";
  });
  byId("fix-all").addEventListener("click", () => manifests.edit(manifests.all(engine.fix(state.manifests, inputs()))));
  byId("share").addEventListener("click", async () => {
    await remember();
    await navigator.clipboard.writeText(location.href).then(
      () => (byId("done").textContent = "Copied."),
      () => (byId("done").textContent = "The browser does not allow that; copy the address bar."),
    );
  });
  addEventListener("hashchange", () => location.hash !== own && followAddress());
  await followAddress();
}

start().catch(problem);
