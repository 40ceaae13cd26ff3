// The engine: setguard, compiled to WebAssembly.

import init, { check, explain, fix, plan, releases } from "engine/engine.js";
import wasm from "engine/engine_bg.wasm";

const loaded = init({ module_or_path: new URL(wasm, import.meta.url) });

export const engine = {
  loaded,
  releases,
  fix: (manifests, inputs) => fix(manifests, JSON.stringify(inputs)),
  check: (manifests, inputs) => JSON.parse(check(manifests, JSON.stringify(inputs))),
  plan: (manifests, inputs) => JSON.parse(plan(manifests, JSON.stringify(inputs))),
  explain: async (rule) => {
    const known = JSON.parse(explain(rule) ?? "null");
    const [why, bad, good] = await Promise.all(["why.md", "bad.yaml", "good.yaml"].map((name) => text(`rules/${rule}/${name}`)));
    return known && { ...known, why, bad, good };
  },
};

// Returns the text of a file beside the page; without a connection, nothing.
async function text(path) {
  const response = await fetch(new URL(path, import.meta.url)).catch(() => undefined);
  return response?.ok ? (await response.text()).trimEnd() : "";
}
