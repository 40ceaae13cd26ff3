// The page "Try it": checks manifests while they are written, and plans their change.

import { editorIn } from "./editor.js";
import { engine } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { showExplanation, showFindings, summaryOf } from "./findings.js";
import { manifestsOf, nodeTable } from "./nodes.js";
import { decode, encode } from "./share.js";
import { planView } from "./timeline.js";

const byId = (id) => document.getElementById(id);
const release = byId("release");
const EMPTY = { manifests: "", before: "", release: "", nodes: [], neverReady: [] };

let state = structuredClone(EMPTY);
let fixes = [];
let checked = "";

const manifests = editorIn(byId("manifests"), "manifests-title", byId("manifests-files"), (text) => {
  state.manifests = text;
  update();
});
const before = editorIn(byId("before"), "before-title", byId("before-files"), (text) => {
  state.before = text;
  update();
});
const nodes = nodeTable(byId("nodes"), byId("add-node"), (all) => {
  state.nodes = all;
  update();
});
const plan = planView(byId("plan"), (pod) => {
  const { neverReady } = state;
  state.neverReady = neverReady.includes(pod) ? neverReady.filter((it) => it !== pod) : [...neverReady, pod];
  update();
});

function problem(error) {
  const text = String(error?.message ?? error);
  byId("problem").hidden = false;
  // Only a fault of setguard ends the engine.
  byId("problem").textContent =
    error instanceof WebAssembly.RuntimeError ? `setguard failed on this text; reload the page and report it (${text})` : text;
}

// Returns what a user can do about a finding.
function actionsFor(finding) {
  const own = fixes.filter((fix) => fix.of === finding);
  return [
    ...own.map(({ title, isSafe, edits }) => ({
      name: isSafe ? title : `${title} (this changes what happens in the cluster)`,
      run() {
        if (manifests.text() === checked) manifests.edit(edits);
      },
    })),
    { name: "Explain", run: () => showExplanation(byId("explanation"), engine.explain(finding.rule)) },
  ];
}

function inputs() {
  const { neverReady } = state;
  return { release: state.release, before: state.before, cluster: manifestsOf(state.nodes), neverReady };
}

function evaluate() {
  byId("problem").hidden = true;
  try {
    const result = engine.check(state.manifests, inputs());
    const { findings } = result.report;
    checked = state.manifests;
    fixes = result.fixes.map((fix) => ({ ...fix, of: findings[fix.finding] }));
    byId("fix-all").disabled = !fixes.some(({ isSafe }) => isSafe);
    byId("summary").textContent = summaryOf(result.report, result.failures);
    manifests.mark(findings, actionsFor);
    const go = (finding) => ({ name: "Go to line", run: () => manifests.go(finding) });
    showFindings(byId("findings"), findings, (it) => [...actionsFor(it), ...(it.line ? [go(it)] : [])]);
    const planned = engine.plan(state.manifests, inputs());
    plan.show(planned.plan, state.neverReady, planned.failures);
  } catch (error) {
    problem(error);
  }
}

let waiting;
function update() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    evaluate();
    remember();
  }, 20);
}

let own = "";
async function remember() {
  const fragment = await encode(state);
  byId("share").disabled = fragment === undefined;
  byId("done").textContent = fragment === undefined ? "This is too much for an address." : "";
  own = `#${fragment ?? ""}`;
  history.replaceState(null, "", own);
}

function load(given) {
  state = { ...structuredClone(EMPTY), ...given };
  if (![...release.options].some(({ value }) => value === state.release)) state.release = release.options[0].value;
  release.value = state.release;
  plan.forget();
  const { manifests: new_, before: old } = state;
  manifests.set(new_);
  before.set(old);
  nodes.show(state.nodes);
  byId("before-section").open = old !== "";
  byId("nodes-section").open = state.nodes.length > 0;
  update();
}

async function start() {
  await engine.loaded;
  release.replaceChildren(...engine.releases().map((it) => new Option(it)));
  release.addEventListener("change", () => {
    state.release = release.value;
    update();
  });
  const examples = byId("example");
  examples.append(...Object.keys(EXAMPLES).map((name) => new Option(name)));
  examples.addEventListener("change", () => {
    if (EXAMPLES[examples.value]) load(structuredClone(EXAMPLES[examples.value]));
  });
  byId("fix-all").addEventListener("click", () => manifests.set(engine.fix(state.manifests, inputs())));
  byId("share").addEventListener("click", async () => {
    await remember();
    await navigator.clipboard.writeText(location.href).then(
      () => (byId("done").textContent = "Copied."),
      () => (byId("done").textContent = "The browser does not allow that; copy the address bar."),
    );
  });
  const followAddress = async () => load((await decode(location.hash)) ?? structuredClone(Object.values(EXAMPLES)[0]));
  addEventListener("hashchange", () => location.hash !== own && followAddress());
  await followAddress();
}

start().catch(problem);
